package layer

// fault is called between the steps of a move. A test kills the process there.
var fault = func(step string) {}
