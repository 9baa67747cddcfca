"""Sources in memory: arrays, data frames and rows one by one."""
