package config

import (
	"errors"
	"fmt"
	"strings"

	"sandboxd/internal/spelling"
)

// errApproveAll is the error for every attempt to disable approval from a file (R-AP-18).
var errApproveAll = errors.New(
	"approvals cannot be switched off from a file; a person starts `sandboxd --mode approve-all`, or `sbx mode " +
		"approve-all` for one session",
)

// renamed maps options of the source specifications to keys, by last part.
var renamed = map[string]string{
	"approval_timeout":           "approval.timeout",
	"auto_approve_safe_commands": "shell.auto_safe",
	"auto_approve_safe_paths":    "files.auto_safe",
	"safe_commands_only":         "approval.safe_commands_only",
	"safe_commands":              "shell.safe_commands",
	"safe_file_patterns": "files.safe (globs; `sbx rules import --from permission-manager FILE` " +
		"converts regular expressions)",
	"protected_paths":        "files.protected",
	"double_confirm_deletes": "approval.double_confirm_deletes",
	"show_approval_stats":    "approval.show_stats",
	"unknown_tools":          "tools.unknown",
	"sandbox_paths":          "paths of a [[shell.rules]], names of [files.paths.NAME]",
	"shell_rules":            "shell.rules",
	"tool_rules":             "tools.rules",
	"os_profile":             "a file in /etc/sandboxd/profile.d",
}

// renamedWhole maps whole keys of the source specifications to keys, if the last part alone has
// another meaning here.
var renamedWhole = map[string]string{
	"sandbox.paths": "[files.paths.NAME]",
}

// neverKeys are not keys of any section, even if a section's struct has a field to refuse them.
var neverKeys = map[string]bool{
	"enabled": true, "yolo": true, "yolo_mode": true, "approve_all": true, "approve-all": true, "auto_approve_all": true,
}

// switchesOff reports whether a key or its value would let everything run.
func switchesOff(path []string, value any) bool {
	name := strings.ToLower(path[len(path)-1])
	switch {
	case name == "enabled":
		return value == false
	case neverKeys[name]:
		return true
	case name == "mode":
		s, _ := value.(string)
		switch strings.ToLower(s) {
		case "approve_all", "approve-all", "yolo", "auto_approve":
			return path[0] == "approval" || path[0] == "permissions"
		}
	}
	return false
}

// unknownKey returns the error for an unknown key, with its name here or the most similar known
// key.
func unknownKey(n *node, path []string, value any) error {
	full := strings.Join(path, ".")
	name := path[len(path)-1]
	if switchesOff(path, value) {
		return errApproveAll
	}
	if strings.ToLower(name) == "enabled" && value == true {
		return fmt.Errorf("unknown key %q; approvals are always on, take the line out", full)
	}
	if ours, ok := renamedWhole[full]; ok {
		return fmt.Errorf("unknown key %q; here it is %s", full, ours)
	}
	if ours, ok := renamed[name]; ok {
		return fmt.Errorf("unknown key %q; here it is %s", full, ours)
	}
	if near := spelling.Nearest(name, n.names()); near != "" {
		return fmt.Errorf("unknown key %q; did you mean %q?", full, near)
	}
	if others := namesakes(name); len(others) > 0 {
		return fmt.Errorf("unknown key %q; did you mean %s?", full, strings.Join(others, " or "))
	}
	if known := n.names(); len(known) > 0 {
		return fmt.Errorf("unknown key %q; known here are %s", full, strings.Join(known, ", "))
	}
	return fmt.Errorf("unknown key %q", full)
}

// namesakes returns the keys of the same name in other sections, or the only key of the section
// of that name, each with its description. The description is needed because the same word may
// have another meaning there.
func namesakes(name string) (out []string) {
	var section []key
	for _, k := range keys {
		first, _, _ := strings.Cut(k.name, ".")
		if first == name {
			section = append(section, k)
		}
	}
	if len(section) == 1 {
		out = append(out, describe(section[0]))
	}
	for _, k := range keys {
		if k.name[strings.LastIndexByte(k.name, '.')+1:] == name {
			out = append(out, describe(k))
		}
	}
	if len(section) > 1 {
		out = append(out, "the section ["+name+"]")
	}
	return out
}

func describe(k key) string { return k.name + " (" + k.doc + ")" }
