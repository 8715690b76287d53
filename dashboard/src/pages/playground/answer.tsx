import { CopyButton } from '../../elements/copy.tsx'
import { Failure } from '../../elements/failure.tsx'
import { Markdown } from '../../elements/markdown.tsx'
import type { Answer as AnswerState } from './chat-stream.ts'
import { Receipt, secondsText, useElapsedMs } from './columns.tsx'

/** The answer of one model, while it streams and after. */
export function Answer({ answer, count }: { answer: AnswerState; count: number }) {
  const { model, state, text, reasoning, toolCalls, pictures, tokens, finish } = answer
  return (
    <section class="card" aria-label={`Answer ${count} of ${model}`}>
      <h2>{model}</h2>
      {reasoning !== '' && (
        <details>
          <summary>Reasoning</summary>
          <p class="quiet thoughts">{reasoning}</p>
        </details>
      )}
      <Markdown text={text} />
      {pictures.map((url, index) => (
        <img key={index} class="drawn" src={url} alt={`Picture ${index + 1} by ${model}`} />
      ))}
      {toolCalls.map((one, index) => (
        <p key={index} class="quiet">
          Calls <code>{one.name}</code> with <code>{one.arguments}</code>
        </p>
      ))}
      {state === 'running' && <Speaking answer={answer} />}
      {state === 'stopped' && <p class="quiet">Stopped. You pay for the text so far.</p>}
      <Failure error={answer.error} />
      {state === 'done' && (
        <>
          {finish === 'length' && <p class="quiet">The answer ended at its token limit.</p>}
          <Receipt {...answer} more={tokens && `${tokens.input} tokens in, ${tokens.output} out`} />
          {text !== '' && <CopyButton text={text} what="answer" isNamed />}
        </>
      )}
    </section>
  )
}

function Speaking({ answer }: { answer: AnswerState }) {
  const elapsedMs = useElapsedMs(answer.startedAtMs)
  return (
    <p class="row">
      <span class="spinner" aria-hidden="true" />
      <span class="quiet">{secondsText(elapsedMs)}</span>
      <button type="button" class="plain small" onClick={answer.stop}>
        Stop
      </button>
    </p>
  )
}
