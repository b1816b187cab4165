"""The paper on fine-tuning and sentence-level probing compared with our results."""
