"""The command line. What an option says, takes and defaults to is in ``workflows.requests``; options of reports in
``reports``.
"""
