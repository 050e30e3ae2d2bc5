"""Many workflows, one service that goes down for a while: what circuit breakers and retry budgets are for."""
