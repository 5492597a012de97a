//go:build !race

package approval_test

// machineRuns is how many random runs TestModel makes (acceptance 1).
const machineRuns = 10_000
