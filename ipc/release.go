package ipc

// Release is the version of this build; the Makefile sets it.
var Release = "development"
