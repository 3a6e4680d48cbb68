//go:build !e2e

package main

const everyCall = false // of TestNetworkCutAtEveryCall
