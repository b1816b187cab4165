"""Jobs: shards, the manifest of finished ones, and executors on one machine or many."""
