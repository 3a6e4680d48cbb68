package view

import (
	"fmt"
	"net/url"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/screen/page"
	"github.com/ralph-loop/ralph/internal/status"
)

// MorningModel is what happened meanwhile.
type MorningModel = page.MorningModel

// stillWord is a kind of standstill as a badge has it.
func stillWord(kind ralph.StillKind) string {
	switch kind {
	case ralph.StillNetwork:
		return "no network"
	case ralph.StillLogin:
		return "no login"
	case ralph.StillDisk:
		return "disk full"
	case ralph.StillPerson:
		return "waited for you"
	case ralph.StillLanding:
		return "did not land"
	}
	return string(kind)
}

func stillTone(r status.StillRow) string {
	switch {
	case r.Kind == ralph.StillCrash, r.Kind == ralph.StillStalled, r.Kind == ralph.StillDisk, r.Kind == ralph.StillBroken:
		return "failed"
	case r.Lasts:
		return "waiting_user"
	}
	return "skipped"
}

// stillHref is where all about a standstill stands, "" for nowhere.
func stillHref(r status.StillRow) string {
	switch {
	case r.Gate != "":
		return "/gate/" + url.PathEscape(string(r.Gate))
	case r.Task != "":
		return "/task/" + url.PathEscape(string(r.Task))
	}
	return ""
}

func landedHref(r status.LandedRow) string {
	if r.Task != "" {
		return "/task/" + url.PathEscape(string(r.Task))
	}
	return "/spec/" + r.Spec
}

func landedName(r status.LandedRow) string {
	if r.Task != "" {
		return string(r.Task) + " " + r.Name
	}
	return r.Name
}

func moreLanded(n int) string { return fmt.Sprintf("%d more landed. ", n) }
