package ipc

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
)

// Resume is RunExec where the request was sent before, over conn, and read is the part of the
// answer read since. Resume closes the connection.
func (c *Client) Resume(ctx context.Context, conn net.Conn, read []byte) (ExecStarted, Stream[Event], error) {
	_, headed, closed := c.watched(ctx, true)
	defer closed()
	answer := bufio.NewReader(io.MultiReader(bytes.NewReader(read), conn))
	resp, err := http.ReadResponse(answer, &http.Request{Method: "POST"})
	headed()
	if speaksOtherwise(err) {
		err = older("")
	}
	if err != nil {
		conn.Close()
		return ExecStarted{}, nil, requestError(err)
	}
	if resp.StatusCode != http.StatusOK {
		defer conn.Close()
		return ExecStarted{}, nil, readError(resp)
	}
	return begun(ctx, &eventReader{lines: newLines(resp.Body), body: conn, cancel: func() { conn.Close() }})
}
