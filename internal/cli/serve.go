package cli

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ralph-loop/ralph/internal/web"
)

func newServe(env Env) *cobra.Command {
	var addr string
	cmd := &cobra.Command{
		Use: "serve", Short: "The web dashboard: see everything, act on everything", Args: cobra.NoArgs,
		Example: "  ralph serve",
		RunE:    func(cmd *cobra.Command, _ []string) error { return runServe(cmd.Context(), env, addr) },
	}
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:7777", "where to listen, `host:port`")
	return cmd
}

func runServe(ctx context.Context, env Env, addr string) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	root, err := findRoot(env)
	if err != nil {
		return err
	}
	board, err := openDashboard(env, root)
	if err != nil {
		return err
	}
	defer board.close()
	server := web.New(board.options())
	defer server.Close()
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", addr, err)
	}
	fmt.Fprintf(env.Stdout, "The dashboard is at http://%s/\n", listener.Addr())
	return server.Run(ctx, listener)
}
