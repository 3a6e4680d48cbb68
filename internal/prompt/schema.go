package prompt

import (
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/signature"
)

// The schemas are written for the strictest taker, an endpoint in strict mode:
// every member is required, what may be left out may be null instead, and no
// member is unknown. Reading an answer is more lenient, see read.go.
const (
	taskSchema = `{"type":"object","additionalProperties":false,
 "required":["name","notes","accept","deps","tags","priority","phase"],
 "properties":{
  "name":{"type":"string","description":"one line, at most 200 characters, unique in this answer"},
  "notes":{"type":["string","null"],"description":"what to do and where"},
  "accept":{"type":["string","null"],"description":"how to see that it is done"},
  "deps":{"type":["array","null"],"items":{"type":"string"},"description":"names of tasks of this answer, or ids of tasks of the plan, that must be done before"},
  "tags":{"type":["array","null"],"items":{"type":"string"}},
  "priority":{"type":["string","null"],"enum":["high","medium","low",null]},
  "phase":{"type":["string","null"],"description":"tasks of one phase are done before those of the next"}}}`

	planSchema = `{"type":"object","additionalProperties":false,"required":["tasks"],
"properties":{"tasks":{"type":"array","items":` + taskSchema + `}}}`

	investigateSchema = `{"type":"object","additionalProperties":false,"required":["tasks","resolved"],
"properties":{"tasks":{"type":"array","items":` + taskSchema + `},
"resolved":{"type":"array","items":{"type":"string"},"description":"ids of issues that are no longer open"}}}`

	verifySchema = `{"type":"object","additionalProperties":false,"required":["verdicts","tasks","issues"],
"properties":{"verdicts":{"type":"array","items":{"type":"object","additionalProperties":false,
 "required":["task","verdict","reason"],
 "properties":{"task":{"type":"string","description":"the id of the task"},
  "verdict":{"type":"string","enum":["accept","reject"]},
  "reason":{"type":["string","null"],"description":"needed for reject: what is missing or wrong"}}}},
"tasks":{"type":"array","items":` + taskSchema + `},
"issues":{"type":"array","items":{"type":"object","additionalProperties":false,"required":["desc"],
 "properties":{"desc":{"type":"string"}}}}}}`
)

// Schema returns the JSON Schema of a stage's answer for drivers that enforce
// one, nil for build, which answers with a signal.
func Schema(stage ralph.TaskKind) []byte {
	switch stage {
	case ralph.KindPlan, ralph.KindDecompose:
		return []byte(planSchema)
	case ralph.KindInvestigate:
		return []byte(investigateSchema)
	case ralph.KindVerify:
		return []byte(verifySchema)
	case ralph.KindReview:
		return signature.Review().Info().Output
	}
	return nil
}
