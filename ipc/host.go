package ipc

import "time"

// Protocol is the version of the wire that this package speaks. It changes
// only when an old client would misunderstand a new server.
const Protocol = 1

// Product is the value of Version.Product.
const Product = "sandboxd"

// FeatureAgentSocket in Version.Features: agents in the sandbox reach agent.sock, and their
// commands run within their own sandbox's profile.
const FeatureAgentSocket = "agent_socket"

// Version answers GET /v1/version.
type Version struct {
	Product  string   `json:"product"`
	Version  string   `json:"version"`
	Protocol int      `json:"protocol"`
	PID      int      `json:"pid"`
	UID      int      `json:"uid"`
	Features []string `json:"features"` // abilities beyond protocol 1's first form
}

// Status answers GET /v1/status.
type Status struct {
	Version     Version      `json:"version"`
	Started     time.Time    `json:"started"`
	Mode        string       `json:"mode"`  // interactive, strict, approve_all
	Scope       string       `json:"scope"` // user (one person's daemon) or system
	Enforcement Enforcement  `json:"enforcement"`
	Degraded    []string     `json:"degraded,omitempty"` // why, one sentence each; empty: fully enforced
	Sessions    int          `json:"sessions"`           // those the caller may see, as are the next two
	Running     int          `json:"running"`
	Pending     int          `json:"pending"`
	Config      []ConfigFile `json:"config"`
	Warnings    []Warning    `json:"warnings,omitempty"`
	StateDir    string       `json:"state_dir,omitempty"`
	Idle        string       `json:"idle,omitempty"` // the reason why the daemon does not exit, or when it will
}

// ConfigFile is one file of configuration and its state.
type ConfigFile struct {
	Path   string `json:"path"`
	Layer  string `json:"layer"` // operator, user, project, profile
	Loaded bool   `json:"loaded"`
	Error  string `json:"error,omitempty"`
}

// Warning is something a person should know; Where is a file and line, or a setting.
type Warning struct {
	Where   string `json:"where,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// Level is the strength of a protection.
type Level string

const (
	Enforced Level = "enforced"
	Partial  Level = "partial" // Missing names the gap
	Absent   Level = "absent"  // Why and Remedy say more
)

// Enforcement is the enforcement on a host (status, doctor) or for one run.
type Enforcement struct {
	Level       Level        `json:"level"`            // the worst of Protections
	Layers      []Layer      `json:"layers,omitempty"` // in the order in which they are applied
	Protections []Protection `json:"protections"`
}

// Layer is one mechanism (bwrap, landlock, seccomp, seatbelt).
type Layer struct {
	Name    string `json:"name"`
	Active  bool   `json:"active"`
	Version string `json:"version,omitempty"`
	Why     string `json:"why,omitempty"` // why it is not active
}

// Protection is one promise and how far it holds.
type Protection struct {
	Name    string `json:"name"` // e.g. "filesystem", "network", "processes", "memory"
	Level   Level  `json:"level"`
	By      string `json:"by,omitempty"`      // the mechanism that holds it
	Missing string `json:"missing,omitempty"` // Partial: the protections that are missing
	Why     string `json:"why,omitempty"`
	Remedy  string `json:"remedy,omitempty"`
}

// DoctorRequest asks GET /v1/doctor.
type DoctorRequest struct {
	Prove bool // attempt each forbidden act for real (?prove=1)
}

// Doctor answers GET /v1/doctor.
type Doctor struct {
	Enforcement Enforcement `json:"enforcement"`
	Findings    []Finding   `json:"findings"`
}

// Finding is one thing that was looked at or attempted.
type Finding struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Proved bool   `json:"proved"` // the forbidden act was attempted, not inferred
	Detail string `json:"detail,omitempty"`
	Remedy string `json:"remedy,omitempty"`
	TookMS int64  `json:"took_ms,omitempty"`
}

// ProfileRequest asks GET /v1/profile.
type ProfileRequest struct {
	Session string // ?session=; empty: the operator's profile alone
	Path    string // ?path=; set: explain the access at this path
	Against string // ?against=; set: another session, to compare with
}

// Profile answers GET /v1/profile.
type Profile struct {
	Digest  string   `json:"digest"`
	Text    string   `json:"text,omitempty"`    // the profile as it prints
	Explain []string `json:"explain,omitempty"` // the rules that decide at Path, most specific first
	Diff    []string `json:"diff,omitempty"`    // lines that start with "+" or "-"
}
