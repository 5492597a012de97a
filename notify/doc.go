// Package notify sends notices of waiting questions to the person: to the desktop, to
// terminals, to webhooks, and to a program.
//
// The promise: a notice leads to a question and never answers it. Sending delays no question: each receiver has a
// queue of its own, and a receiver that is slow or dead loses its notices and is reported by Problems. A notice
// contains only what Config.Share permits, with secrets masked and control characters made visible.
//
//	n := notify.New(controller, func() notify.Config { return cfg })
//	go n.Run(ctx)
//
// # When
//
// A question that still waits after Config.Delay (DelayHigh for a high risk) has one notice, and another shortly
// before it times out. A question that was answered before has none. During the quiet hours nothing is sent; a
// question that still waits at their end has its notice then. Answered questions are withdrawn from the desktop, and
// reported as "closed" to webhooks of the form json and to the program.
//
// # Receivers
//
// Desktop: org.freedesktop.Notifications on the user's session bus; the notice is replaced and closed by its id
// (Desktop Notifications Specification 1.2).
//
// Terminals: a bell, or OSC 9, 777 or 99, to each pseudo-terminal of the user's that accepts messages (mesg(1)). One
// that a program opened from another pseudo-terminal, as an agent does for its commands, gets none (Linux).
//
// Webhooks: one HTTP POST, repeated twice after a network error and the statuses 429 and 5xx. If there is a
// secret, the request is signed as Standard Webhooks 1.0 defines: webhook-id, webhook-timestamp, and
// webhook-signature "v1," with the base64 of HMAC-SHA256 over "id.timestamp.body". The forms ntfy, slack, teams and
// discord follow the documentation of these services; json is a Notice; template is text/template over a Notice,
// and its result must be JSON.
//
// Command: a program of the user's, outside every sandbox, with a Notice as JSON on its standard input.
//
// # Limitations
//
// A phone's push service needs one of the webhooks. On macOS there is no desktop receiver; a program serves. A
// redirect of a webhook is not followed. The names of the agent and of the project's folder are in a summary.
package notify
