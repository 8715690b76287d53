import { useState } from 'preact/hooks'
import { place } from '../../data/place.ts'
import { accountQuery, signedIn } from '../../data/session.ts'
import { useTitle } from '../../data/title.ts'
import { CopyButton } from '../../elements/copy.tsx'
import { Prose } from '../../elements/markdown.tsx'
import { Snippets } from '../../elements/snippets.tsx'
import { readable } from './answer.ts'
import {
  resolve,
  takes,
  type Answer,
  type Content,
  type Media,
  type Operation,
  type Parameter,
} from './contract.ts'
import { nameOf, programsOf, type Filled } from './request.ts'
import { Entries, entriesOf, Unfold, type Entry } from './schema.tsx'
import { TryIt } from './try-it.tsx'

type Props = { operation: Operation; origin: string }

/** One operation: what it takes and answers, the request as code, and a form that sends it. */
export function OperationPage({ operation, origin }: Props) {
  const { summary, description, path, isWebhook, requestBody, responses } = operation
  const [filled, fill] = useState(() => usualOf(operation))
  useTitle(summary)
  const of = (where: Parameter['in']) => operation.parameters.filter((one) => one.in === where)
  return (
    <div class="api-operation">
      <div>
        <p class="quiet">{operation.tags.join(', ')}</p>
        <h1>{summary}</h1>
        <p class="row">
          <Method {...operation} />
          <code>{path}</code>
          {!isWebhook && <CopyButton text={origin + path} what="address" />}
        </p>
        <Access operation={operation} />
        <Prose text={description} />
      </div>
      <div class="api-side">
        {isWebhook ? (
          <Examples content={requestBody!.content} title="Example" />
        ) : (
          <>
            <section class="card" aria-label="Code">
              <Snippets title="Languages" ways={programsOf(operation, filled, origin)} />
            </section>
            <TryIt {...{ operation, filled, fill }} examples={bodiesOf(operation)} />
          </>
        )}
      </div>
      <div>
        <Parameters title="Path" parameters={of('path')} />
        <Parameters title="Query" parameters={of('query')} />
        {requestBody !== undefined && (
          <section class="card" aria-label="Body">
            <h2>{isWebhook ? 'Event' : 'Body'}</h2>
            <Bodies content={requestBody.content} />
          </section>
        )}
        <Parameters title="Headers" parameters={of('header')} isFolded />
        <section class="card">
          <h2>{isWebhook ? 'Answers of your server' : 'Answers'}</h2>
          {Object.entries(responses).map(([status, answer], index) => (
            <AnswerOf key={status} {...{ status, answer }} isOpen={index === 0} />
          ))}
        </section>
      </div>
    </div>
  )
}

/** The method of an operation, in the colour of its kind. */
export function Method({ method }: Operation) {
  return <span class={`method ${method.toLowerCase()}`}>{method}</span>
}

/** The examples of the body in the form that the page sends. */
function bodiesOf({ requestBody }: Operation) {
  const [media] = Object.values(requestBody?.content ?? {})
  return media === undefined ? [] : examplesOf(media)
}

/** What the form has at first: examples of what is required, and what the query of the address names. */
function usualOf(operation: Operation): Filled {
  const { query } = place.value
  const account = signedIn.value ? accountQuery().account_id : undefined
  const values = operation.parameters.map((one) => {
    const { name, required, in: where } = one
    const given = query.get(where === 'path' ? 'id' : name)
    const usual = required ? exampleOf(one) : name === 'account_id' ? account : undefined
    return [nameOf(one), given ?? (usual === undefined ? '' : String(usual))] as const
  })
  return { values: Object.fromEntries(values), body: bodiesOf(operation)[0]?.text ?? '' }
}

const exampleOf = ({ example, examples }: Parameter) =>
  example ?? Object.values(examples ?? {})[0]?.value

/** The examples of a body, with their titles. */
function examplesOf({ example, examples = {} }: Media, type = '') {
  const text = (value: unknown) =>
    typeof value === 'string' ? value : JSON.stringify(value, null, 2)
  const named = Object.entries(examples).map(([name, { summary, value }]) => {
    const words = name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
    return { name: summary ?? words, text: text(value) }
  })
  const only = { name: type === 'text/event-stream' ? 'Stream' : 'Example', text: text(example) }
  return example === undefined ? named : [...named, only]
}

/** Who may send the request. */
function Access({ operation }: Pick<Props, 'operation'>) {
  const { security, isWebhook, isStreamed } = operation
  if (isWebhook) return null
  const permissions = [...new Set(security.flatMap((one) => Object.values(one).flat()))]
  const [key, session] = [takes(operation, 'bearer'), takes(operation, 'session')]
  return (
    <p class="quiet">
      {key ? 'Takes an API key' : session ? '' : 'Takes no API key.'}
      {permissions.length > 0 && ` with the permission ${permissions.join(', ')}`}
      {session && (key ? ', or the session of a person' : 'Takes a session')}
      {(key || session) && '.'}
      {isStreamed && ' Answers as a stream of events, if wanted.'}
    </p>
  )
}

type ParametersProps = { title: string; parameters: readonly Parameter[]; isFolded?: true }

function Parameters({ title, parameters, isFolded }: ParametersProps) {
  const list = () => <Entries entries={parameters.map(entryOf)} />
  if (parameters.length === 0) return null
  return (
    <section class="card">
      <h2>{title}</h2>
      {isFolded ? <Unfold title={`${parameters.length} headers`}>{list}</Unfold> : list()}
    </section>
  )
}

function entryOf(parameter: Parameter): Entry {
  const { name, required, description } = parameter
  const example = exampleOf(parameter)
  const more = {
    ...(description !== undefined && { description }),
    ...(example !== undefined && { examples: [example] }),
  }
  return { name, schema: { ...parameter.schema, ...more }, isRequired: required }
}

function Bodies({ content }: { content: Content }) {
  return (
    <>
      {Object.entries(content).map(([type, { schema }]) => {
        const entries = entriesOf(schema)
        return (
          <div key={type}>
            <p class="quiet">{type}</p>
            {entries.length > 0 && <Entries entries={entries} />}
          </div>
        )
      })}
    </>
  )
}

type AnswerProps = { status: string; answer: Answer; isOpen: boolean }

function AnswerOf({ status, answer, isOpen }: AnswerProps) {
  const { description, headers = {}, content = {} } = answer
  const entries = Object.entries(headers).map(([name, written]) =>
    entryOf({ ...resolve(written), name }),
  )
  const title = (
    <>
      <span class={`state ${status.startsWith('2') ? 'good' : ''}`}>{status}</span>{' '}
      {/^.*?\.(?=\s|$)/s.exec(description)?.[0]}
    </>
  )
  return (
    <Unfold title={title} isOpen={isOpen}>
      {() => (
        <>
          <Prose text={description} />
          <Examples content={content} title="Example" />
          <Bodies content={content} />
          {entries.length > 0 && (
            <Unfold title={`${entries.length} headers`}>
              {() => <Entries entries={entries} />}
            </Unfold>
          )}
        </>
      )}
    </Unfold>
  )
}

function Examples({ content, title }: { content: Content; title: string }) {
  const ways = Object.entries(content).flatMap(([type, media]) =>
    examplesOf(media, type).map(({ name, text }) => ({ name, text: readable(text) })),
  )
  return ways.length === 0 ? null : <Snippets title={title} ways={ways} />
}
