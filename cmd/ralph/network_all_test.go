//go:build e2e

package main

const everyCall = true // of TestNetworkCutAtEveryCall
