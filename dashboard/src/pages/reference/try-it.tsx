import { signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { csrfHeaders } from '../../data/api.ts'
import { keyFor } from '../../data/calling.ts'
import { useAct } from '../../data/load.ts'
import { signedIn } from '../../data/session.ts'
import type { Snippet } from '../../data/snippets.ts'
import { SelectField, TextareaField } from '../../elements/controls.tsx'
import { CopyButton } from '../../elements/copy.tsx'
import { Failure } from '../../elements/failure.tsx'
import { InputField } from '../../elements/field.tsx'
import { Form } from '../../elements/form.tsx'
import { receive, type Received } from './answer.ts'
import { takes, type Operation, type Parameter } from './contract.ts'
import { choosesStream, membersOf, nameOf, requestOf, type Filled } from './request.ts'
import { Unfold } from './schema.tsx'

const accessTexts = {
  session: 'Your session',
  test: 'Your session, test mode (free)',
  live: 'Your session, live (charged)',
  key: 'An API key',
  none: 'No key and no session',
} as const
type Access = keyof typeof accessTexts

/** The chosen access and the API key, which are kept in memory until the page is closed. */
const chosen = signal<Access | undefined>(undefined)
const apiKey = signal('')

/** The ways in which this reader can be authenticated for an operation, the usual one first. */
function accessesOf(operation: Operation): Access[] {
  const { security } = operation
  const isOptional = security.length === 0 || security.some((one) => Object.keys(one).length === 0)
  const [key, session] = [takes(operation, 'bearer'), takes(operation, 'session')]
  const own: Access[] = session ? ['session'] : key ? ['test', 'live'] : []
  return [
    ...(signedIn.value ? own : []),
    ...(key ? ['key' as const] : []),
    ...(isOptional ? ['none' as const] : []),
  ]
}

/** The credentials of a request. Throws a Refusal. */
async function credentialsFor(access: Access) {
  if (access === 'session') return { credentials: 'same-origin', proof: csrfHeaders() } as const
  const key = access === 'key' ? apiKey.value.trim() : access === 'none' ? '' : await keyFor(access)
  const proof: Record<string, string> = key === '' ? {} : { authorization: `Bearer ${key}` }
  return { credentials: 'omit', proof } as const
}

type Props = { operation: Operation; filled: Filled; fill: (filled: Filled) => void }

/** A form that sends the request, and its answer as it arrives. */
export function TryIt(props: Props & { examples: readonly Snippet[] }) {
  const { operation, filled, fill, examples } = props
  const [received, setReceived] = useState<Received>()
  const running = useRef(new AbortController())
  useEffect(() => () => running.current.abort(), [])
  const accesses = accessesOf(operation)
  const access = accesses.find((one) => one === chosen.value) ?? accesses[0]
  const sending = useAct(async () => {
    running.current = new AbortController()
    const { signal } = running.current
    const { path, headers, body = null, method } = requestOf(operation, filled)
    const { credentials, proof } = await credentialsFor(access!)
    const request = { method, body, credentials, signal, headers: { ...headers, ...proof } }
    await receive(path, request, setReceived).catch((error: unknown) => {
      if (!signal.aborted) throw error
    })
  })
  return (
    <section class="card" aria-labelledby="try-it">
      <h2 id="try-it">Try it</h2>
      {access === undefined ? (
        <p>Sign in first: only the session of a person can send this request.</p>
      ) : (
        <Form send={sending.run}>
          <Authentication access={access} accesses={accesses} />
          {examples.length > 1 && (
            <SelectField
              label="Example"
              choices={examples.map(({ name }, at) => [String(at), name])}
              onChoose={(at) => fill({ ...filled, body: examples[Number(at)]!.text })}
            />
          )}
          <Inputs {...{ operation, filled, fill }} />
          {operation.method !== 'GET' && access === 'session' && (
            <p class="hint above">This is no test: the request changes what it names.</p>
          )}
          <div class="row">
            <button type="submit" disabled={sending.isBusy}>
              Send
            </button>
            {sending.isBusy && (
              <button type="button" class="plain" onClick={() => running.current.abort()}>
                Stop
              </button>
            )}
          </div>
        </Form>
      )}
      <Failure error={sending.error} />
      {received !== undefined && <Answer received={received} />}
    </section>
  )
}

function Authentication({ access, accesses }: { access: Access; accesses: readonly Access[] }) {
  return (
    <>
      {accesses.length > 1 && (
        <SelectField
          label="As"
          choices={accesses.map((one) => [one, accessTexts[one]])}
          chosen={access}
          onChoose={(one) => (chosen.value = one)}
        />
      )}
      {access === 'key' && (
        <InputField
          label="API key"
          hint="It stays in this tab, and is sent to this gateway alone."
          type="password"
          autoComplete="off"
          required
          value={apiKey.value}
          onInput={(event) => (apiKey.value = event.currentTarget.value)}
        />
      )}
    </>
  )
}

/** Fields of the parameters and the body. The page adds the token of the session itself. */
function Inputs({ operation, filled, fill }: Props) {
  const shown = operation.parameters.filter(({ name }) => name !== 'x-csrf-token')
  const optional = shown.filter((one) => !one.required)
  const valueOf = (one: Parameter) => filled.values[nameOf(one)] ?? ''
  const field = (one: Parameter) => (
    <InputField
      key={nameOf(one)}
      label={one.name}
      spellcheck={false}
      autoComplete="off"
      required={one.required ?? false}
      placeholder={String(one.example ?? '')}
      value={valueOf(one)}
      onInput={({ currentTarget: { value } }) =>
        fill({ ...filled, values: { ...filled.values, [nameOf(one)]: value } })
      }
    />
  )
  return (
    <>
      {shown.filter((one) => one.required).map(field)}
      {optional.length > 0 && (
        <Unfold title={`${optional.length} optional`} isOpen={optional.some(valueOf)}>
          {() => optional.map(field)}
        </Unfold>
      )}
      {operation.requestBody !== undefined && <Body {...{ operation, filled, fill }} />}
    </>
  )
}

const rowsMax = 18

function Body({ operation, filled, fill }: Props) {
  const { body } = filled
  const members = membersOf(body)
  const setStream = (stream: boolean) => {
    const { stream: _, partial_images: __, ...others } = members ?? {}
    const previews = operation.path.startsWith('/v1/images') ? { partial_images: 2 } : {}
    const next = stream ? { ...others, stream, ...previews } : others
    fill({ ...filled, body: JSON.stringify(next, null, 2) })
  }
  const fault = body.trim() === '' || members ? undefined : 'This is not a JSON object.'
  return (
    <>
      <TextareaField
        label="Body"
        fault={fault}
        class="api-code"
        spellcheck={false}
        rows={Math.min(rowsMax, body.split('\n').length + 1)}
        value={body}
        onInput={(event) => fill({ ...filled, body: event.currentTarget.value })}
      />
      {choosesStream(operation) && members !== undefined && (
        <label class="choice">
          <input
            type="checkbox"
            checked={members['stream'] === true}
            onChange={(event) => setStream(event.currentTarget.checked)}
          />
          Stream the answer
        </label>
      )}
    </>
  )
}

function Answer({ received }: { received: Received }) {
  const element = useRef<HTMLDivElement>(null)
  useEffect(() => element.current?.scrollIntoView({ block: 'nearest' }), [])
  const { status, headers, events, eventCount, spoken, pictures, text, shown, isDone } = received
  const seconds = (received.durationMs / 1000).toFixed(2)
  if (received.isRedirect)
    return <p class="api-answer">The answer is a redirect, which scripts cannot read.</p>
  return (
    <div class="api-answer" ref={element}>
      <p class="row" role="status">
        <span class={`state ${status < 400 ? 'good' : 'wrong'}`}>{status}</span>
        {isDone ? `${seconds} s` : 'Receiving'}
        {eventCount > 0 && `, ${eventCount} events`}
        {isDone && text !== '' && <CopyButton text={text} what="answer" />}
      </p>
      {pictures.map((src, index) => (
        <img key={index} src={src} alt={`Picture ${index + 1} of the answer`} />
      ))}
      {spoken !== '' && <p class="api-spoken">{spoken}</p>}
      {(events.length > 0 || shown !== '') && (
        <pre tabIndex={0} role="region" aria-label="Answer">
          {shown}
          {events.map(({ name, shown: part, atMs }, index) => (
            <span key={eventCount - events.length + index} class="api-event">
              <b>{`${(atMs / 1000).toFixed(2)} s ${name}`}</b>
              {`\n${part}\n`}
            </span>
          ))}
        </pre>
      )}
      <details>
        <summary>{headers.length} headers</summary>
        <pre tabIndex={0} role="region" aria-label="Headers">
          {headers.map(([name, value]) => `${name}: ${value}\n`)}
        </pre>
      </details>
    </div>
  )
}
