// Package mcp offers sandboxd's tools to any client of the Model Context Protocol, over standard
// input and output.
//
// The promise: a tool does nothing that the daemon did not decide; a refusal is a tool's error
// whose text a model can act on; annotations state a tool's worst effect. Project and working
// directory are parameters of each call (https://modelcontextprotocol.io/seps/2577: clients' roots
// are on their way out); the sandbox's access follows from a person's trust in the project, not
// from them.
//
// The tool approve has the contract of a permission-prompt tool: it judges a call that the client
// makes itself, and answers with text that is {"behavior":"allow","updatedInput":…} or
// {"behavior":"deny","message":…}.
//
// # Limitations
//
// The protocol does not report to a server that the user spoke, so a session that a person stopped
// resumes only by sbx session resume.
//
// A person answers through an approver (sbx approve). Through the client (elicitation) they answer
// only where [approval] client_answers permits it: the requesting program passes that answer on, so
// the daemon gives it little weight, accepts it for this once, and records its origin.
package mcp
