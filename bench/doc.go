// Bench measures the cost of a supervised command, beside a bare one and beside
// bubblewrap alone with the same mounts, on the machine at hand, and writes a
// report.
//
//	make bench
//	go run ./bench -bin bin -runs 200 -report report.md -plot launch.svg
//
// All ways of one table are measured in turns within one run, so that other work
// of the machine meets all of them alike; the result is the ratio of medians,
// not the microseconds. Daemons of its own are started, with their sockets, state
// and project in temporary directories, and stopped at the end.
//
// # Limitations
//
// On two processors the daemon shares them with the measured command. A run on a busy
// machine says little; the report says how busy it was.
package main
