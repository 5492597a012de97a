package approval_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/BurntSushi/toml"

	"sandboxd/approval"
)

func decodeConfig(text string) (approval.Config, error) {
	file := struct {
		Approval approval.Config `toml:"approval"`
	}{approval.DefaultConfig()}
	if _, err := toml.Decode("[approval]\n"+text, &file); err != nil {
		return file.Approval, err
	}
	return file.Approval, file.Approval.Validate()
}

func TestConfigKeys(t *testing.T) {
	c, err := decodeConfig(`
mode = "strict"
policy = "whitelist"
contained = false
safe_commands_only = true
timeout = "45s"
timeout_remote = 600
no_approver = "deny"
inline = false
show_stats = false
double_confirm_deletes = false
`)
	if err != nil {
		t.Fatal(err)
	}
	want := approval.Config{Mode: "strict", Policy: "whitelist", SafeCommandsOnly: true,
		Timeout:       approval.Duration(45 * time.Second),
		TimeoutRemote: approval.Duration(10 * time.Minute), NoApprover: "deny"}
	if c != want {
		t.Errorf("%+v, want %+v", c, want)
	}
	d, err := decodeConfig("")
	if err != nil || d != approval.DefaultConfig() {
		t.Errorf("defaults: %+v, %v", d, err)
	}
	if d.Timeout != approval.Duration(10*time.Minute) || d.TimeoutRemote != approval.Duration(5*time.Minute) ||
		!d.DoubleConfirmDeletes {
		t.Errorf("defaults: %+v", d)
	}
	// What is shown can be read again.
	var b bytes.Buffer
	if err := toml.NewEncoder(&b).Encode(want); err != nil {
		t.Fatal(err)
	}
	if again, err := decodeConfig(b.String()); err != nil || again != want {
		t.Errorf("written and read: %+v, %v\n%s", again, err, b.String())
	}
}

// TestConfigRefuses: above all, what would switch the questions off is a load
// error that names the way that there is (R-AP-18).
func TestConfigRefuses(t *testing.T) {
	for text, part := range map[string]string{
		`enabled = false`:        "sandboxd --mode approve-all",
		`yolo_mode = true`:       "sandboxd --mode approve-all",
		`yolo_mode = false`:      "sandboxd --mode approve-all",
		`approve_all = true`:     "sandboxd --mode approve-all",
		`mode = "approve-all"`:   "sandboxd --mode approve-all",
		`mode = "approve_all"`:   "sandboxd --mode approve-all",
		`mode = "yolo"`:          "sandboxd --mode approve-all",
		`mode = "Strict"`:        `approval.mode "Strict": want`,
		`mode = ""`:              "approval.mode",
		`policy = "greylist"`:    "approval.policy",
		`no_approver = "allow"`:  "approval.no_approver",
		`timeout = "0s"`:         "approval.timeout",
		`timeout = "-1s"`:        "approval.timeout",
		`timeout_remote = "48h"`: "approval.timeout_remote",
		`timeout = "soon"`:       "duration",
		`timeout = 1e30`:         "duration",
	} {
		if _, err := decodeConfig(text); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: error is %v, want %q in it", text, err, part)
		}
	}
	if _, err := decodeConfig("enabled = true"); err != nil {
		t.Errorf("enabled = true: %v", err)
	}
	bad := approval.DefaultConfig()
	bad.Mode = approval.ModeApproveAll
	if _, err := approval.New(approval.Options{Config: bad}); err == nil {
		t.Error("a controller was made with approve-all configured")
	}
	c, err := approval.New(approval.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	if err := c.Configure(bad); err == nil || c.Mode(ref("s")).Mode != approval.ModeInteractive {
		t.Error("a bad configuration was taken on reload")
	}
}

// TestApproveAllLimits: it has an end, and somebody who switched it on (R-AP-18).
func TestApproveAllLimits(t *testing.T) {
	bubble(t, approval.Options{}, func(t *testing.T, c *approval.Controller) {
		c.OpenSession(ref("s"))
		for name, err := range map[string]error{
			"9 hours":           c.ApproveAll(alice, 9*time.Hour),
			"negative":          c.ApproveAll(alice, -1),
			"by nobody":         c.ApproveAll(approval.Identity{}, time.Hour),
			"session, 61 min":   c.ApproveAllSession(alice, ref("s"), 61*time.Minute),
			"session, negative": c.ApproveAllSession(alice, ref("s"), -1),
			"by the asker": c.ApproveAllSession(approval.Identity{Principal: principal, Via: approval.ViaInline}, ref("s"),
				time.Minute),
			"no such session": c.ApproveAllSession(alice, ref("x"), time.Minute),
		} {
			if err == nil {
				t.Errorf("%s: taken", name)
			}
		}
		if err := c.ApproveAll(alice, 8*time.Hour); err != nil {
			t.Fatal(err)
		}
		if m := c.Mode(ref("any")); m.Mode != approval.ModeApproveAll || m.By != alice ||
			!m.Until.Equal(time.Now().Add(8*time.Hour)) {
			t.Errorf("%+v", m)
		}
		safe := asking("s")
		safe.Class.Safe = true
		if d := <-start(t.Context(), c, safe); len(d.Warnings) != 1 ||
			!strings.Contains(d.Warnings[0], "approve-all is on until") {
			t.Errorf("an answer does not warn: %+v", d.Warnings)
		}
		time.Sleep(8 * time.Hour)
		if m := c.Mode(ref("any")); m.Mode != approval.ModeInteractive {
			t.Errorf("after 8 hours: %+v", m)
		}
		if err := c.ApproveAll(alice, time.Hour); err != nil {
			t.Fatal(err)
		}
		if err := c.ApproveAll(alice, 0); err != nil {
			t.Fatal(err)
		}
		if m := c.Mode(ref("any")); m.Mode != approval.ModeInteractive {
			t.Errorf("switched off: %+v", m)
		}
	})
}
