// Runs the Pub/Sub server with which Google tests its own clients, at the address of its only argument, until it is stopped.
//
// That server speaks gRPC alone. As the service and its emulator do, this program also answers the calls by which a client looks
// up and creates topics and subscriptions as JSON over HTTP/1.1 at the same address.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"cloud.google.com/go/pubsub/v2/pstest"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: pubsub-server HOST:PORT")
		os.Exit(2)
	}
	server := pstest.NewServer()
	defer server.Close()
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	rest := &connections{open: make(chan net.Conn), address: listener.Addr()}
	go http.Serve(rest, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(&server.GServer, w, r) }))
	go accept(listener, server.Addr, rest)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	<-stop
}

// Passes each connection on by its first bytes: HTTP/2 begins with "PRI ".
func accept(listener net.Listener, grpc string, rest *connections) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			reader := bufio.NewReader(client)
			begin, err := reader.Peek(4)
			switch {
			case err != nil:
				client.Close()
			case string(begin) == "PRI ":
				pass(client, reader, grpc)
			default:
				rest.open <- peeked{client, reader}
			}
		}()
	}
}

func pass(client net.Conn, reader io.Reader, address string) {
	defer client.Close()
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		io.Copy(server, reader)
		server.Close()
	}()
	io.Copy(client, server)
}

// A connection of which the first bytes were read.
type peeked struct {
	net.Conn
	reader io.Reader
}

func (p peeked) Read(b []byte) (int, error) { return p.reader.Read(b) }

// The connections that speak HTTP/1.1.
type connections struct {
	open    chan net.Conn
	address net.Addr
}

func (c *connections) Accept() (net.Conn, error) { return <-c.open, nil }
func (c *connections) Close() error              { return nil }
func (c *connections) Addr() net.Addr            { return c.address }

// Answers a call as the service maps it to HTTP.
func answer(server *pstest.GServer, w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/v1/")
	body, err := io.ReadAll(r.Body)
	var found proto.Message
	switch {
	case err != nil:
	case r.Method == http.MethodGet && strings.Contains(name, "/topics/"):
		found, err = server.GetTopic(context.Background(), &pubsubpb.GetTopicRequest{Topic: name})
	case r.Method == http.MethodGet && strings.Contains(name, "/subscriptions/"):
		found, err = server.GetSubscription(context.Background(), &pubsubpb.GetSubscriptionRequest{Subscription: name})
	case r.Method == http.MethodPut && strings.Contains(name, "/topics/"):
		topic := &pubsubpb.Topic{}
		if err = protojson.Unmarshal(body, topic); err == nil {
			topic.Name = name
			found, err = server.CreateTopic(context.Background(), topic)
		}
	case r.Method == http.MethodPut && strings.Contains(name, "/subscriptions/"):
		subscription := &pubsubpb.Subscription{}
		if err = protojson.Unmarshal(body, subscription); err == nil {
			subscription.Name = name
			found, err = server.CreateSubscription(context.Background(), subscription)
		}
	default:
		err = errors.New("this server does not know the call")
	}
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		refuse(w, err)
		return
	}
	text, err := protojson.Marshal(found)
	if err != nil {
		refuse(w, err)
		return
	}
	w.Write(text)
}

func refuse(w http.ResponseWriter, err error) {
	of := status.Convert(err)
	codes := map[string]int{"NotFound": 404, "AlreadyExists": 409, "InvalidArgument": 400, "FailedPrecondition": 400}
	words := map[string]string{
		"NotFound": "NOT_FOUND", "AlreadyExists": "ALREADY_EXISTS", "InvalidArgument": "INVALID_ARGUMENT",
		"FailedPrecondition": "FAILED_PRECONDITION",
	}
	code, isKnown := codes[of.Code().String()]
	word := words[of.Code().String()]
	if !isKnown {
		code, word = 500, "INTERNAL"
	}
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"error":{"code":%d,"message":%q,"status":%q}}`, code, of.Message(), word)
}
