//go:build race

package approval_test

// Under the race detector a tenth of the runs; it is ten times slower.
const machineRuns = 1_000
