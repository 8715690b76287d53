import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Prose } from '../../elements/markdown.tsx'
import { resolve, type Schema } from './contract.ts'

/** A named schema: a member, a parameter, a header or an alternative. */
export type Entry = { name: string; schema: Schema; isRequired?: boolean | undefined }

type Plain = { schema: Schema; others: Schema[]; isNullable: boolean; isOpen: boolean }

/** The schema with its references and parts merged, its alternatives without null, and null as a rule. */
function plain(schema: Schema): Plain {
  const { allOf = [], oneOf, anyOf, ...whole } = resolve(schema)
  const merged = allOf.map(resolve).reduce<Schema>(
    (before, part) => ({
      ...part,
      ...before,
      properties: { ...part.properties, ...before.properties },
    }),
    whole,
  )
  const all = oneOf ?? anyOf ?? []
  const others = all.filter((one) => resolve(one).type !== 'null')
  const isNullable = others.length < all.length || Boolean(merged.type?.includes('null'))
  // A list that later versions extend is an enumeration beside any other string.
  const [first, second] = others.map(resolve)
  const isOpen = others.length === 2 && first?.enum !== undefined && second?.type === 'string'
  if (others.length !== 1 && !isOpen) return { schema: merged, others, isNullable, isOpen }
  const inner = plain(others[0]!)
  const more = { isNullable: isNullable || inner.isNullable, isOpen: isOpen || inner.isOpen }
  return { ...inner, ...more, schema: { ...inner.schema, ...merged } }
}

const depthMax = 3

/** The type in words, such as `array of string or null`. */
function wordsOf(given: Schema, depth = 0): string {
  const { schema, others, isNullable } = plain(given)
  const { type, items, enum: values } = schema
  const words = [type ?? []]
    .flat()
    .filter((one) => one !== 'null')
    .map((one) =>
      one === 'array' && items !== undefined && depth < depthMax
        ? `array of ${wordsOf(items, depth + 1)}`
        : one,
    )
  if (words.length === 0 && depth < depthMax)
    words.push(...others.map((one) => wordsOf(one, depth + 1)))
  if (words.length === 0) words.push(values === undefined ? 'any' : 'string')
  return [...new Set([...words, ...(isNullable ? ['null'] : [])])].join(' or ')
}

/** What a schema consists of: its members, alternatives, or those of its items. */
export function entriesOf(given: Schema, depth = 0): Entry[] {
  const { schema, others } = plain(given)
  const { properties = {}, required, additionalProperties: any, discriminator } = schema
  const kinds = Object.entries(discriminator?.mapping ?? {})
  const nameOf = (one: Schema) =>
    kinds.flatMap(([kind, to]) => (to === one.$ref ? [kind] : [])).join(', ') ||
    (one.$ref?.split('/').at(-1) ?? wordsOf(one))
  const isTelling = others.some((one) => Object.keys(resolve(one)).length > 1)
  const inner = schema.contentSchema ?? schema.items
  return [
    ...Object.entries(properties).map(([name, member]) => ({
      name,
      schema: member,
      isRequired: required?.includes(name) ?? false,
    })),
    ...(typeof any === 'object'
      ? [{ name: 'any other name', schema: any, isRequired: false }]
      : []),
    ...(isTelling ? others.map((one) => ({ name: nameOf(one), schema: one })) : []),
    ...(inner !== undefined && depth < depthMax ? entriesOf(inner, depth + 1) : []),
  ]
}

/** Details whose content is made when they are first opened, so that circles of schemas end. */
export function Unfold(props: {
  title: ComponentChildren
  isOpen?: boolean
  children: () => ComponentChildren
}) {
  const [wasOpened, setOpened] = useState(props.isOpen ?? false)
  return (
    <details
      open={props.isOpen ?? false}
      onToggle={(event) => event.currentTarget.open && setOpened(true)}
    >
      <summary>{props.title}</summary>
      {wasOpened && props.children()}
    </details>
  )
}

/** Entries with type, description and rules; what each consists of unfolds. */
export function Entries({ entries }: { entries: readonly Entry[] }) {
  return (
    <ul class="members">
      {entries.map(({ name, schema, isRequired }) => {
        const { schema: whole, isOpen } = plain(schema)
        const inner = entriesOf(schema)
        const { enum: values } = whole.items ? plain(whole.items).schema : whole
        return (
          <li key={name}>
            <p class="row">
              <code>{name}</code>
              {isRequired === true && <span class="state warn">required</span>}
              <span class="quiet">{wordsOf(schema)}</span>
              {whole.deprecated === true && <span class="state">deprecated</span>}
            </p>
            {whole.description !== undefined && <Prose text={whole.description} />}
            {values !== undefined && <Values values={values} isOpen={isOpen} />}
            <Rules schema={whole} />
            {inner.length > 0 && (
              <Unfold title={`${inner.length} ${isChoice(inner) ? 'alternatives' : 'members'}`}>
                {() => <Entries entries={inner} />}
              </Unfold>
            )}
          </li>
        )
      })}
    </ul>
  )
}

/** Whether one of the entries is to be chosen; a member is required or not. */
const isChoice = (entries: readonly Entry[]) =>
  entries.every(({ isRequired }) => isRequired === undefined)

const shownMax = 12
const printed = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))

function Values({ values, isOpen }: { values: readonly unknown[]; isOpen: boolean }) {
  const list = (some: readonly unknown[]) =>
    some.map((value) => <code key={String(value)}>{printed(value)}</code>)
  return (
    <div class="rules">
      <span class="quiet">one of</span>
      {list(values.slice(0, shownMax))}
      {isOpen && <span class="quiet">or one of a later version</span>}
      {values.length > shownMax && (
        <Unfold title={`${values.length - shownMax} more`}>
          {() => list(values.slice(shownMax))}
        </Unfold>
      )}
    </div>
  )
}

/** Bounds, patterns, defaults and an example, by the names that JSON Schema gives them. */
function Rules({ schema }: { schema: Schema }) {
  const { examples, enum: values } = schema
  const rules = Object.entries(schema).filter(
    ([name, value]) => typeof value === 'number' || typeof value === 'string' || name === 'default',
  )
  const shown = rules.filter(([name]) => !['type', 'description', 'title'].includes(name))
  const [example] = values === undefined ? (examples ?? []) : []
  if (example !== undefined) shown.push(['example', example])
  if (shown.length === 0) return null
  return (
    <div class="rules">
      {shown.map(([name, value]) => (
        <span key={name}>
          <span class="quiet">{name}</span> <code>{printed(value)}</code>
        </span>
      ))}
    </div>
  )
}
