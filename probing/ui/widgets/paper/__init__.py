"""The part "For a paper" below every figure."""
