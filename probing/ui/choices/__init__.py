"""What can be chosen on each page: one small declaration per page, the fields of its link."""
