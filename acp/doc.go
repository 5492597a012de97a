// Package acp connects an editor and an agent of the Agent Client Protocol (https://agentclientprotocol.com,
// version 1), and has the daemon carry out the agent's requests to its editor.
//
//	p := acp.Proxy{Name: "gemini", Connect: connect, Editor: os.Stdout, Agent: agentsInput}
//	go p.FromEditor(ctx, os.Stdin)
//	err := p.FromAgent(ctx, agentsOutput)
//	p.Close()
//
// The agent's requests terminal/* and fs/* never reach the editor: commands are judged, asked about and run in the
// sandbox of the project, files are read and written by the file tool. A refusal is an error of JSON-RPC with the
// reason as its message. A session/request_permission is answered where the tool layer decides by itself. The editor's
// initialize says that its client has terminals and files. Everything else is passed on, byte for byte.
//
// A message of the agent that two readers might take for different ones is refused and not passed on, so that no
// request for a file reaches the editor in disguise.
//
// # Limitations
//
// Version 2 of the protocol, a draft, is not spoken: the editor's offer is lowered to 1. Requests of extensions are
// passed on: an editor that has some has them for the agent. A command has no terminal: its output comes through pipes.
package acp
