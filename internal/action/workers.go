package action

import (
	"context"
	"slices"

	"github.com/ralph-loop/ralph"
)

// Fleet is a Backend that reaches workers on other machines.
type Fleet interface {
	// Drain has a worker take no more steps, and end when those under way have ended.
	Drain(ctx context.Context, worker string) (said string, err error)
}

// workerVerbs are what people do with the workers of a fleet. They change no fact: a worker has no part in what is
// decided.
func workerVerbs() []definition {
	return []definition{{
		name: "drain", about: Worker, title: "Drain", danger: true, doc: "Has a worker of the fleet take no more steps, and end when those under way have ended.",
		command: "fleet drain <worker>", short: "Have a worker take no more steps, and end when those under way have ended",
		confirm: func(_ *ralph.State, id string) string {
			return "Have " + id + " take no more steps? It ends when those under way have ended, and is started again on its machine."
		},
		try: drainable,
		do: func(ctx context.Context, _ definition, backend Backend, in Input) (Result, error) {
			if err := drainable(nil, backend.Context(), in.ID); err != nil {
				return Result{}, err
			}
			fleet, ok := backend.(Fleet)
			if !ok {
				return Result{}, &ralph.Refusal{Why: "workers cannot be reached from here", Hint: "drain it where its coordinator works; `[[workers]]` lists all", Kind: ralph.ErrUsage}
			}
			said, err := fleet.Drain(ctx, in.ID)
			return Result{Said: said}, err
		},
	}}
}

// drainable refuses a worker that takes no steps of the coordinator that works here.
func drainable(_ *ralph.State, w Context, id string) error {
	if !slices.Contains(w.Workers, id) {
		return &ralph.Refusal{Why: "no worker " + id + " takes steps of this repository now", Hint: "`[[workers]]` lists those that the server knows", Kind: ralph.ErrNotFound}
	}
	return nil
}
