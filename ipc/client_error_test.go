package ipc_test

import (
	"errors"
	"net"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"

	"sandboxd/ipc"
)

// Errors name no method and no URL, which mean nothing to the person who reads them.
func TestErrorsWithoutHTTP(t *testing.T) {
	h, _, s := house(t, ipc.Limits{})
	deaf := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", deaf)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	jargon := regexp.MustCompile(`GET|POST|(?i)get "|http|/v1|dial|unix`)
	for name, c := range map[string]*ipc.Client{
		"absent":        {Socket: "/nowhere/s"},
		"a file":        {Socket: "/dev/null"},
		"too long":      {Socket: "/" + string(make([]byte, 200))},
		"deaf":          {Socket: deaf},
		"another user":  {Socket: h.Agent.Socket, User: "nobody-of-that-name"},
		"a bad secret":  {Socket: h.Agent.Socket, Secret: "wrong"},
		"a wild secret": {Socket: h.Agent.Socket, Secret: "a\nb"},
	} {
		_, _, err := c.RunExec(t.Context(), ipc.ExecRequest{Session: s.ID, Command: "echo"})
		if err != nil && jargon.MatchString(err.Error()) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err = c.Status(t.Context()); err != nil && name != "a wild secret" && jargon.MatchString(err.Error()) {
			t.Errorf("%s: %v", name, err)
		}
		if name == "too long" && !errors.Is(err, syscall.EINVAL) {
			t.Errorf("%s: %v", name, err)
		}
		c.Close()
	}
}
