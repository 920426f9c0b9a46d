"""Files and folders that are either wholly there or not there at all."""
