// Package sandbox runs commands inside the operating system's sandbox.
//
// The promise: a command that starts is confined as its [Plan] says, and the
// plan's report lists each protection that this host can't enforce; if any part of
// the plan fails, nothing starts. When a command ends, all of its processes have
// ended.
//
//	host, err := sandbox.Open(ctx, sandbox.Options{Stage: path})
//	plan, err := host.Plan(sandbox.Request{Profile: p, Command: sandbox.Command{Argv: argv, Env: env, Dir: dir}})
//	proc, err := host.Start(ctx, plan, sandbox.Stdio{In: in, Out: out, Err: errs}, nil)
//	exit := proc.Wait()
//
// On Linux a plan is a sealed list of bubblewrap's arguments and a sealed
// order for the stage (package sandbox/stage) that runs inside, installs
// Landlock and seccomp, and starts the command.
//
// # Limitations
//
// Mounts are computed from the tree as it is when the plan is made. Exit
// statuses above 128 can't be distinguished from signals. Only Linux starts commands so
// far; macOS profiles are compiled by package seatbelt and not yet applied.
package sandbox
