"""The files of a model: in a folder, or at a commit of the Hugging Face Hub."""
