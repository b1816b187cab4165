"""Steps of a build: what is new on top of an old database, and the runs that none can be made with."""
