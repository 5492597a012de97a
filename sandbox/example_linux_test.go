package sandbox_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"sandboxd/profile"
	"sandboxd/sandbox"
)

// A command sees what its profile names, here the system's programs and one directory,
// and nothing that it may not see.
func Example() {
	dir, err := os.MkdirTemp(os.Getenv("HOME"), "sandbox-example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	stage := filepath.Join(dir, "sandboxd-launch")
	if out, err := exec.Command("../cmd/sandboxd-launch/build.sh", stage).CombinedOutput(); err != nil {
		panic(string(out))
	}
	project, secret := filepath.Join(dir, "project"), filepath.Join(dir, "secret")
	if err := os.Mkdir(project, 0o700); err != nil {
		panic(err)
	}
	if err := os.WriteFile(secret, []byte("canary"), 0o600); err != nil {
		panic(err)
	}

	ctx := context.Background()
	host, err := sandbox.Open(ctx, sandbox.Options{Stage: stage})
	if err != nil {
		panic(err)
	}
	defer host.Close()
	p, err := profile.New(projectOnly(project))
	if err != nil {
		panic(err)
	}
	script := "echo hello > note; cat note; cat " + secret + " 2> /dev/null || echo no secret"
	plan, err := host.Plan(sandbox.Request{Profile: p, Command: sandbox.Command{
		Argv: []string{"sh", "-c", script}, Dir: project, Env: []string{"PATH=/usr/bin:/bin"},
	}})
	if err != nil {
		panic(err)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		panic(err)
	}
	defer null.Close()
	read, write, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	process, err := host.Start(ctx, plan, sandbox.Stdio{In: null, Out: write, Err: write}, nil)
	if err != nil {
		panic(err)
	}
	write.Close()
	output, err := io.ReadAll(read)
	fmt.Print(string(output))
	fmt.Println("exit", process.Wait().Code, err)
	// Output:
	// hello
	// no secret
	// exit 0 <nil>
}

// projectOnly is a profile of the system's programs and one writable directory.
func projectOnly(dir string) profile.Spec {
	spec := profile.Spec{Devices: profile.MinimalDevices(), Rules: []profile.Rule{
		{Kind: profile.Private, Access: profile.Read, Path: "/proc"},
		{Kind: profile.Allow, Access: profile.Read | profile.Write | profile.Exec, Path: dir},
	}}
	for _, path := range profile.SystemTrees() {
		spec.Rules = append(
			spec.Rules,
			profile.Rule{Kind: profile.Allow, Access: profile.Read | profile.Exec, Path: path},
		)
	}
	return spec
}
