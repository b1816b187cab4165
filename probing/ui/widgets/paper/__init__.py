"""The part "Save" below every figure."""
