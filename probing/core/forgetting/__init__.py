"""Facts that fine-tuning lost: groups, ways back, yardsticks, and the test of memory."""
