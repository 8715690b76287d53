import { Failure } from '../../elements/failure.tsx'
import type { Answer as Told } from './chat-stream.ts'
import { Receipt, secondsText, useElapsedMs } from './columns.tsx'
import { Said } from './said.tsx'

/** What one model says, while it does and after. */
export function Answer({ answer, count }: { answer: Told; count: number }) {
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
      <Said text={text} />
      {pictures.map((url, index) => (
        <img key={index} class="drawn" src={url} alt={`Picture ${index + 1} by ${model}`} />
      ))}
      {toolCalls.map((one, index) => (
        <p key={index} class="quiet">
          It calls <code>{one.name}</code> with <code>{one.arguments}</code>
        </p>
      ))}
      {state === 'running' && <Speaking answer={answer} />}
      {state === 'stopped' && <p class="quiet">Stopped. What was written by then is paid.</p>}
      <Failure error={answer.error} />
      {state === 'done' && (
        <>
          {finish === 'length' && <p class="quiet">It ended at its limit of tokens.</p>}
          <Receipt {...answer} more={tokens && `${tokens.input} tokens in, ${tokens.output} out`} />
        </>
      )}
    </section>
  )
}

function Speaking({ answer }: { answer: Told }) {
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
