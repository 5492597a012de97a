package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"sandboxd/cmd/sbx/internal/reply"
)

// pageScript plays sequences of keys, one a line of JSON, with the page's grammar, and prints one result a line.
const pageScript = `
import { createInterface } from "node:readline";
const { Line } = await import(process.argv[1]);
for await (const text of createInterface({ input: process.stdin })) {
  const { options, slow, keys } = JSON.parse(text);
  const line = new Line(options, { slow });
  let typed = "", now = 1;
  for (const [key, after] of keys) {
    now += after;
    if (key === "up" || key === "down") {
      line.move(key === "up" ? -1 : 1);
      if (line.read().kind !== "reason") typed = "";
      continue;
    }
    if (key === "other") {
      line.key();
      continue;
    }
    const grown = key === "back" ? [...typed].slice(0, -1).join("") : typed + key;
    typed = key === "clear" ? "" : grown.replace(/^ +/, "");
    line.set(typed, now);
    if (typed === "" && (key === "clear" || key === "back")) line.clear(); // as the field's keys do
  }
  const { kind, at } = line.enter();
  console.log(kind, at, line.at(), line.due > 0);
}
`

// played is the same for the package reply.
func played(l reply.Line, keys [][2]any) string {
	for _, k := range keys {
		switch key := k[0].(string); key {
		case "up":
			l.Move(-1)
		case "down":
			l.Move(1)
		case "other":
			l.Type("", time.Now())
		case "back":
			l.Erase()
		case "clear":
			l.Clear()
		default:
			l.Type(key, time.Now())
		}
	}
	kind, option := l.Enter()
	names := []string{"empty", "option", "not offered", "reason"}
	return fmt.Sprint(names[kind], " ", option, " ", l.At(), " ", !l.Due().IsZero())
}

// R-UX-09: the page has the grammar of the terminal. Its JavaScript and the package reply agree on random sequences of
// keys; WEB_KEYSTROKES is how many.
func TestPageGrammar(t *testing.T) {
	sequences := 20_000
	if n, err := strconv.Atoi(os.Getenv("WEB_KEYSTROKES")); err == nil {
		sequences = n
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 3))
	keys := append(strings.Fields("y Y e s n o a q v 1 2 3 6 7 0 x é 日 up down back clear other"), " ")
	options := []string{"y", "n", "", "q", "s"}
	var input bytes.Buffer
	var want, sent []string
	for range sequences {
		slow := random.IntN(2) == 0
		list := make([][2]any, 0, 9)
		for range 1 + random.IntN(8) {
			list = append(list, [2]any{keys[random.IntN(len(keys))], random.IntN(700)})
		}
		line, err := json.Marshal(map[string]any{"options": options, "slow": slow, "keys": list})
		if err != nil {
			t.Fatal(err)
		}
		input.Write(append(line, '\n'))
		sent = append(sent, string(line))
		want = append(want, played(reply.Line{Options: options, First: -1, Slow: slow}, list))
	}
	text, err := os.ReadFile("../../gateway/page/reply.js")
	if err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(t.TempDir(), "reply.mjs") // by which every node knows a module
	if err := os.WriteFile(page, text, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "--input-type=module", "-e", pageScript, page)
	cmd.Stdin, cmd.Stderr = &input, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(got) != len(want) {
		t.Fatalf("got %d results, want %d", len(got), len(want))
	}
	yes := 0
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%s: the page says %q, the terminal %q", sent[i], got[i], want[i])
		}
		if strings.HasPrefix(want[i], "option 0 ") || strings.HasPrefix(want[i], "option 4 ") {
			yes++
		}
	}
	t.Logf("%d of %d are a yes", yes, sequences)
	if yes == 0 {
		t.Error("no sequence is a yes")
	}
}
