mod allocations;
