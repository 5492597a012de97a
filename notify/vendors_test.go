package notify

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sandboxd/approval"
)

// cards reads each Teams card as the service's own package does, and prints what that finds wrong.
const cards = `globalThis.self = globalThis;
const { AdaptiveCard, SerializationContext, Version } = require("adaptivecards/dist/adaptivecards.js");
for (const m of require("./teams.json")) {
  const context = new SerializationContext(Version.v1_4);
  new AdaptiveCard().parse(m.attachments[0].content, context);
  for (let i = 0; i < context.eventCount; i++) console.log(context.getEventAt(i).message);
}`

// R-UX-13: each ready form is valid against what its service publishes for programs: the types of Slack's and
// Discord's packages, and the reader of Adaptive Cards. Run by make vendors.
func TestFormsOfTheirServices(t *testing.T) {
	if os.Getenv("SBX_VENDORS") == "" {
		t.Log("not tried: SBX_VENDORS is not set")
		return
	}
	dir := t.TempDir()
	write := func(name, content string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tried := func(name string, args ...string) (string, error) {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	run := func(name string, args ...string) string {
		out, err := tried(name, args...)
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return out
	}
	write("package.json", "{}")
	run("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "typescript@5", "@types/node@18",
		"@slack/webhook@7", "discord-api-types@0.38", "adaptivecards@3")

	program := []string{`import type { IncomingWebhookSendArguments } from "@slack/webhook";`,
		`import type { RESTPostAPIWebhookWithTokenJSONBody } from "discord-api-types/v10";`}
	var teams []json.RawMessage
	hostile := "日本 <b>&amp;</b> *x* _y_ @everyone \\ \""
	for _, text := range []string{"make test", "", hostile, strings.Repeat("long ", 2000)} {
		for _, share := range []string{"none", "summary", "command"} {
			for _, link := range []string{"", "https://approve.example.org/?q={id}"} {
				s := &schedule{cfg: Config{Share: share, Link: link}}
				n := s.notice(approval.Pending{ID: "01J", Risk: "high", Deadline: time.Now(), AgentShown: text,
					Tool: "bash", Cwd: "/home/ann/app", Description: text}, Asked)
				body := func(form string) string {
					made, err := forms[form](Webhook{URL: "https://h.example.org/topic"}, n)
					if err != nil {
						t.Fatal(form, err)
					}
					return string(made.body)
				}
				at := len(program)
				program = append(program,
					fmt.Sprintf("export const a%d: IncomingWebhookSendArguments = %s;", at, body("slack")),
					fmt.Sprintf("export const b%d: RESTPostAPIWebhookWithTokenJSONBody = %s;", at, body("discord")))
				teams = append(teams, json.RawMessage(body("teams")))
			}
		}
	}
	check := func() (string, error) {
		return tried("npx", "tsc", "--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "forms.ts")
	}
	write("forms.ts", strings.Join(program, "\n"))
	if out, err := check(); err != nil {
		t.Errorf("slack, discord: %v\n%s", err, out)
	}
	write("forms.ts", strings.Join(append(program[:2],
		`export const a: IncomingWebhookSendArguments = { text: "x", txet: "y" };`,
		`export const b: RESTPostAPIWebhookWithTokenJSONBody = { content: 1 };`), "\n"))
	if out, err := check(); err == nil || strings.Count(out, "error TS") != 2 {
		t.Errorf("the check takes what is not valid: %v\n%s", err, out)
	}
	all, err := json.Marshal(teams)
	if err != nil {
		t.Fatal(err)
	}
	write("teams.json", string(all))
	if out := run("node", "-e", cards); out != "" {
		t.Errorf("teams: %s", out)
	}
	write("teams.json",
		`[{"attachments": [{"content": {"type": "AdaptiveCard", "version": "1.4", "body": [{"type": "X"}]}}]}]`)
	if out := run("node", "-e", cards); out == "" {
		t.Error("the reader of cards finds nothing wrong with an element that there is not")
	}
}
