package model

import "github.com/kubelife/lifecycle/examples/simulation/network"

type (
	Client      = network.Client
	Call        = network.Call
	Span        = network.Span
	Kind        = network.Kind
	Message     = network.Message
	Fate        = network.Fate
	Past        = network.Past
	Lock        = network.Lock
	Note        = network.Note
	NoteKind    = network.NoteKind
	Verb        = network.Verb
	Store       = network.Store
	MessageKind = network.MessageKind
)

const (
	Nodes         = network.Nodes
	Leases        = network.Leases
	Pods          = network.Pods
	LeaderLease   = network.LeaderLease
	Get           = network.Get
	List          = network.List
	Update        = network.Update
	Patch         = network.Patch
	Delete        = network.Delete
	Evict         = network.Evict
	MessageCall   = network.MessageCall
	MessageAnswer = network.MessageAnswer
	MessageEvent  = network.MessageEvent
	FaultBegan    = network.FaultBegan
	FaultEnded    = network.FaultEnded
	Started       = network.Started
	Synced        = network.Synced
	Leads         = network.Leads
	Stopped       = network.Stopped
	Paused        = network.Paused
	Resumed       = network.Resumed
	CallTimeout   = network.CallTimeout
)
