package approval_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sandboxd/approval"
	"sandboxd/approval/approvaltest"
)

func open(t *testing.T, path string) (*approval.Controller, *approval.FileStore) {
	t.Helper()
	store := approval.NewFileStore(path)
	c, err := approval.New(approval.Options{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	return c, store
}

func remember(t *testing.T, c *approval.Controller, effect approval.Effect, payload map[string]any) approval.Grant {
	t.Helper()
	p, err := approval.ExactPattern("bash", payload)
	if err != nil {
		t.Fatal(err)
	}
	g, err := c.AddGrant(alice, approval.Grant{Effect: effect, Scope: approval.ScopeGlobal, Match: p, Principal: principal,
		Why: "because"})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func covers(t *testing.T, c *approval.Controller, payload map[string]any) (approved bool, reason approval.Reason) {
	t.Helper()
	d, err := c.Preview(t.Context(), approval.Call{Principal: principal, Session: "s", Tool: "bash",
		Request: &approval.Request{Tool: "bash", Payload: payload}})
	if err != nil {
		t.Fatal(err)
	}
	return d.Approved, d.Reason
}

var makeIt = map[string]any{"command": "make", "n": int64(1)<<53 + 1}

// TestStoreKeeps: a persistent grant outlives the process, with everything
// that is known of it (R-AP-08, R-OP-03).
//
//   - Row 001-82 yes: persistent approvals
func TestStoreKeeps(t *testing.T) {
	path := filepath.Join(t.TempDir(), "grants.json")
	c, _ := open(t, path)
	g := remember(t, c, approval.Allow, makeIt)
	pattern, err := c.AddGrant(alice, approval.Grant{Effect: approval.Deny, Scope: approval.ScopeAgent, Agent: "token:ci",
		Principal: principal,
		Match: approval.Pattern{Tool: "bash", Where: []approval.Condition{approval.Prefix("argv", "git", "push"),
			approval.Equal("n", int64(1)<<53+1)}, Free: []string{"cwd"}}})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		call := asking("s")
		call.Request.Payload = makeIt
		if d, _ := c.Decide(t.Context(), call); !d.Approved {
			t.Fatal(d.Why)
		}
	}
	if err := c.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	c, _ = open(t, path)
	defer c.Close(context.Background())
	got, err := c.Grant(alice, g.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got.Uses != 3 || got.LastUsed.IsZero() || got.By != alice || got.Why != "because" || !got.Created.Equal(g.Created) {
		t.Errorf("%+v", got)
	}
	if ok, _ := covers(t, c, makeIt); !ok {
		t.Error("the grant does not hold after a restart")
	}
	if ok, _ := covers(t, c, map[string]any{"command": "make", "n": int64(1) << 53}); ok {
		t.Error("a neighbouring number is covered")
	}
	call := asking("s")
	call.Agent.ID = "token:ci"
	call.Request.Payload = map[string]any{"argv": []any{"git", "push", "-f"}, "cwd": "/x", "n": int64(1)<<53 + 1}
	if d, _ := c.Preview(t.Context(), call); d.Grant != pattern.ID || d.Reason != approval.ReasonGrant {
		t.Errorf("the pattern does not hold after a restart: %+v", d)
	}
	if err := c.Revoke(alice, g.ID); err != nil {
		t.Fatal(err)
	}
	again, _ := open(t, path)
	defer again.Close(context.Background())
	if ok, _ := covers(t, again, makeIt); ok {
		t.Error("the revoked grant came back")
	}
}

// TestStoreBroken: a broken file keeps the last good one in force and says so.
func TestStoreBroken(t *testing.T) {
	for name, spoil := range map[string]func([]byte) string{
		"not JSON":        func([]byte) string { return "{" },
		"empty":           func([]byte) string { return "" },
		"cut off":         func(b []byte) string { return string(b[:len(b)/2]) },
		"another version": func(b []byte) string { return strings.Replace(string(b), `"version": 1`, `"version": 2`, 1) },
		"unknown key":     func(b []byte) string { return strings.Replace(string(b), `"uses"`, `"usage"`, 1) },
		"unknown effect": func(b []byte) string {
			return strings.Replace(string(b), `"effect": "allow"`, `"effect": "maybe"`,
				1)
		},
		"session scope": func(b []byte) string {
			return strings.Replace(string(b), `"scope": "global"`, `"scope": "session"`,
				1)
		},
		"empty pattern": func(b []byte) string { return strings.Replace(string(b), `"exact"`, `"tool"`, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "grants.json")
			c, _ := open(t, path)
			defer c.Close(context.Background())
			remember(t, c, approval.Allow, makeIt)
			remember(t, c, approval.Deny, map[string]any{"command": "rm"})
			good, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			bad := spoil(good)
			if bad == string(good) {
				t.Fatal("nothing was spoiled")
			}
			if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
				t.Fatal(err)
			}
			// Read again while running: what is in memory stays.
			sub := c.Subscribe(approval.Identity{Operator: true})
			var broken *approval.BrokenError
			if err := c.Reload(); !errors.As(err, &broken) || !strings.Contains(err.Error(), "the state in memory") {
				t.Errorf("reload: %v", err)
			}
			if e, err := sub.Next(t.Context()); err != nil || e.Kind != approval.EventNotice || !strings.Contains(e.Note, path) {
				t.Errorf("no notice was published: %+v, %v", e, err)
			}
			if ok, _ := covers(t, c, makeIt); !ok {
				t.Error("the allow was lost")
			}
			if _, r := covers(t, c, map[string]any{"command": "rm"}); r != approval.ReasonGrant {
				t.Error("the deny was lost")
			}
			// Started again: the state before the last write holds.
			fresh, _ := open(t, path)
			defer fresh.Close(context.Background())
			if err := fresh.StoreErr(); !errors.As(err, &broken) || broken.Using != path+".last" {
				t.Errorf("the broken file was read without a word: %v", err)
			}
			if ok, _ := covers(t, fresh, makeIt); !ok {
				t.Error("after a restart, the allow was lost")
			}
			// Rewritten: the broken file is kept for looking into.
			remember(t, fresh, approval.Deny, map[string]any{"command": "dd"})
			kept, err := os.ReadFile(path + ".broken")
			if err != nil || string(kept) != bad {
				t.Errorf("the broken file was not kept: %v", err)
			}
			last, _ := open(t, path)
			defer last.Close(context.Background())
			if _, r := covers(t, last, map[string]any{"command": "dd"}); r != approval.ReasonGrant {
				t.Error("what was written over the broken file does not hold")
			}
		})
	}
}

// TestStoreStale: a write by hand is taken on Reload, and use counts survive it.
func TestStoreReload(t *testing.T) {
	path := filepath.Join(t.TempDir(), "grants.json")
	c, _ := open(t, path)
	defer c.Close(context.Background())
	g := remember(t, c, approval.Allow, makeIt)
	call := asking("s")
	call.Request.Payload = makeIt
	if d, _ := c.Decide(t.Context(), call); !d.Approved {
		t.Fatal(d.Why)
	}
	other, _ := open(t, path)
	remember(t, other, approval.Deny, map[string]any{"command": "rm"})
	if err := other.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := c.Reload(); err != nil {
		t.Fatal(err)
	}
	if _, r := covers(t, c, map[string]any{"command": "rm"}); r != approval.ReasonGrant {
		t.Error("the new grant does not hold")
	}
	if got, _ := c.Grant(alice, g.ID); got.Uses != 1 {
		t.Errorf("used %d times", got.Uses)
	}
}

// TestStoreVersioned: the file says its version, so that another program can
// tell what it reads.
func TestStoreVersioned(t *testing.T) {
	path := filepath.Join(t.TempDir(), "grants.json")
	c, _ := open(t, path)
	defer c.Close(context.Background())
	remember(t, c, approval.Allow, makeIt)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var head struct{ Version int }
	if err := json.Unmarshal(data, &head); err != nil || head.Version != 1 {
		t.Errorf("version %d, %v", head.Version, err)
	}
	names, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	if err != nil || len(names) != 1 {
		t.Errorf("the folder holds %v", names)
	}
}

// TestStoreExpires: what is over is not written, and not read back to life by
// a clock that was set back.
func TestStoreExpires(t *testing.T) {
	store := new(approvaltest.Store)
	clock := new(approvaltest.Clock)
	c, err := approval.New(approval.Options{Store: store, Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	p, _ := approval.ExactPattern("bash", makeIt)
	if _, err := c.AddGrant(alice, approval.Grant{Effect: approval.Allow, Scope: approval.ScopeGlobal, Match: p,
		Principal: principal, Expires: clock.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	clock.Jump(-2 * time.Hour)
	early, err := approval.New(approval.Options{Store: store, Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer early.Close(context.Background())
	if ok, _ := covers(t, early, makeIt); ok {
		t.Error("an allow holds before it was given")
	}
	clock.Jump(4 * time.Hour)
	if ok, _ := covers(t, c, makeIt); ok {
		t.Error("an allow holds after its end")
	}
	remember(t, c, approval.Deny, map[string]any{"command": "rm"})
	if n := len(store.Grants()); n != 1 {
		t.Errorf("%d grants were written, want the one that is not over", n)
	}
}

// TestGrantLimits: what cannot be granted.
func TestGrantLimits(t *testing.T) {
	none, err := approval.New(approval.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer none.Close(context.Background())
	c, err := approval.New(approval.Options{Store: new(approvaltest.Store)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	c.OpenSession(ref("s"))
	exact, _ := approval.ExactPattern("bash", makeIt)
	good := approval.Grant{Effect: approval.Allow, Scope: approval.ScopeGlobal, Match: exact, Principal: principal,
		Session: "s", Agent: "a"}
	if _, err := c.AddGrant(alice, good); err != nil {
		t.Fatal(err)
	}
	if _, err := none.AddGrant(alice, good); err == nil {
		t.Error("a persistent grant without a store")
	}
	for name, change := range map[string]func(*approval.Grant, *approval.Identity){
		"no effect":           func(g *approval.Grant, _ *approval.Identity) { g.Effect = "" },
		"once":                func(g *approval.Grant, _ *approval.Identity) { g.Scope = "once" },
		"another principal's": func(_ *approval.Grant, by *approval.Identity) { *by = mallory },
		"by the asker":        func(_ *approval.Grant, by *approval.Identity) { by.Via = approval.ViaInline },
		"no project":          func(g *approval.Grant, _ *approval.Identity) { g.Scope, g.Project = "project", "" },
		"an unverified agent": func(g *approval.Grant, _ *approval.Identity) { g.Scope, g.Agent = "agent", "" },
		"no such session":     func(g *approval.Grant, _ *approval.Identity) { g.Scope, g.Session = "session", "x" },
		"no pattern":          func(g *approval.Grant, _ *approval.Identity) { g.Match = approval.Pattern{Tool: "bash"} },
		"over already":        func(g *approval.Grant, _ *approval.Identity) { g.Expires = time.Now().Add(-time.Second) },
		"not UTF-8": func(g *approval.Grant,
			_ *approval.Identity) {
			g.Match = approval.Pattern{Tool: "bash\xff", Any: true}
		},
		"a value not UTF-8": func(g *approval.Grant, _ *approval.Identity) {
			g.Match = approval.Pattern{Tool: "bash", Where: []approval.Condition{approval.Equal("x", []any{"\xff"})}}
		},
		"a folder that climbs": func(g *approval.Grant, _ *approval.Identity) {
			g.Match = approval.Pattern{Tool: "bash", Where: []approval.Condition{approval.Under("x", "../x")}}
		},
	} {
		g, by := good, alice
		change(&g, &by)
		if _, err := c.AddGrant(by, g); err == nil {
			t.Errorf("%s: granted", name)
		}
	}
	g := c.Grants(alice)[0]
	if err := c.Revoke(mallory, g.ID); !errors.Is(err, approval.ErrGrant) {
		t.Errorf("revoked by another principal: %v", err)
	}
	if _, err := c.Grant(mallory, g.ID); !errors.Is(err, approval.ErrGrant) {
		t.Errorf("seen by another principal: %v", err)
	}
	if n := len(c.Grants(mallory)); n != 0 {
		t.Errorf("another principal sees %d grants", n)
	}
}

// TestRevokeUnwritable: a revoked grant no longer holds at once; that it would
// come back is said (R-AP-21).
func TestRevokeUnwritable(t *testing.T) {
	store := new(approvaltest.Store)
	c, err := approval.New(approval.Options{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	g := remember(t, c, approval.Allow, makeIt)
	store.Fail(errors.New("disk full"))
	if err := c.Revoke(alice, g.ID); err == nil || !strings.Contains(err.Error(), "come back") {
		t.Errorf("error is %v", err)
	}
	if ok, _ := covers(t, c, makeIt); ok {
		t.Error("it still holds")
	}
	store.Fail(nil)
	if err := c.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := len(store.Grants()); n != 0 {
		t.Errorf("%d grants are stored after the store works again", n)
	}
}

// TestUnstorable: what cannot be written as it is can still be remembered for
// the session.
func TestUnstorable(t *testing.T) {
	bubble(t, approval.Options{Store: new(approvaltest.Store)}, func(t *testing.T, c *approval.Controller) {
		call := asking("s")
		call.Request.Payload = map[string]any{"path": "\xff"}
		call.Request.Suggestions = []approval.Suggestion{{Label: "x",
			Pattern: approval.Pattern{Tool: "bash", Where: []approval.Condition{approval.Equal("path", "\xff")}}}}
		start(t.Context(), c, call)
		p := only(t, c)
		a := p.Allow(alice)
		a.Scope, a.Suggestion = approval.ScopeGlobal, 1
		var scope *approval.ScopeError
		if _, err := c.Answer(t.Context(), p.ID, a); !errors.As(err, &scope) {
			t.Errorf("error is %v", err)
		}
		a.Scope = approval.ScopeSession
		if _, err := c.Answer(t.Context(), p.ID, a); err != nil {
			t.Error(err)
		}
	})
	bubble(t, approval.Options{}, func(t *testing.T, c *approval.Controller) {
		call := asking("s")
		call.Request.Payload = map[string]any{"f": func() {}}
		start(t.Context(), c, call)
		p := only(t, c)
		if len(p.AllowScopes) != 1 || len(p.DenyScopes) != 1 {
			t.Errorf("on offer: %v, %v", p.AllowScopes, p.DenyScopes)
		}
	})
}
