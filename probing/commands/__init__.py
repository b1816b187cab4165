"""The command line. Its options are described in ``workflows.requests``, those of reports in ``reports``."""
