"""The paper on fine-tuning and sentence-level probing on the Reproduction page."""
