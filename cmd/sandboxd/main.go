// Command sandboxd is the supervisor daemon: it judges the requests of agents,
// asks people, and runs approved commands inside an OS sandbox.
//
//	sandboxd [--config FILE] [--socket-dir DIR] [--state-dir DIR] [--mode interactive|strict|approve-all]
//	sandboxd config check|show|schema
//
// sbx starts one for its user when none runs; on a server the service manager
// does.
package main

import "os"

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }
