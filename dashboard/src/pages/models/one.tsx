import type { Schemas } from '../../data/api.ts'
import { pathOf } from '../../data/catalog.ts'
import { keyVariable } from '../../data/curl.ts'
import { abilityName } from '../../data/model-facts.ts'
import { shortCount } from '../../data/money.ts'
import { addressOf } from '../../data/place.ts'
import { Head } from '../../elements/head.tsx'
import { CopyButton } from '../../elements/copy.tsx'
import { Snippets } from '../../elements/snippets.tsx'
import { abilitiesOf, isForInputOnly, stateOf, type Entry } from './entries.ts'
import { Parameters, Sizes } from './parameters.tsx'
import { Prices } from './prices.tsx'
import { Routes } from './routes.tsx'
import { snippetsFor } from './snippets.ts'

type Props = { id: string; catalog: Schemas['CatalogList'] }

/** One model in full: prices, capabilities and the health of its routes. */
export function OneModel({ id, catalog }: Props) {
  const entry = catalog.data.find(
    ({ model }) => model.id === id || model.aliases?.includes(id) === true,
  )
  if (entry === undefined) return <NoModel id={id} />
  const { text, look } = stateOf(entry)
  const { model } = entry
  return (
    <>
      <Head title={model.name}>
        <div class="row">
          <a href={addressOf('/models')}>All models</a>
          {entry.is_usable && !isForInputOnly(entry) && (
            <a class="button" href={addressOf('/playground', { model: model.id })}>
              Try it
            </a>
          )}
        </div>
      </Head>
      <Ending entry={entry} />
      <section class="card">
        <dl class="facts">
          <dt>Id</dt>
          <dd class="row">
            <code>{model.id}</code>
            <CopyButton text={model.id} what="the model's id" />
          </dd>
          <dt>State</dt>
          <dd>
            <span class={`state ${look}`}>{text}</span>
          </dd>
          <Facts entry={entry} />
        </dl>
      </section>
      <Prices model={model} />
      <Routes entry={entry} measured={catalog.measured} />
      <Sizes entry={entry} />
      <Parameters entry={entry} />
      {entry.is_usable && <Use entry={entry} />}
    </>
  )
}

function Facts({ entry }: { entry: Entry }) {
  const { model } = entry
  const aliases = model.aliases ?? []
  const abilities = abilitiesOf(entry)
  return (
    <>
      {aliases.length > 0 && (
        <>
          <dt>Also called</dt>
          <dd>{aliases.join(', ')}</dd>
        </>
      )}
      <dt>Family</dt>
      <dd>{model.family}</dd>
      <dt>Input</dt>
      <dd>{model.input_modalities.join(', ')}</dd>
      <dt>Output</dt>
      <dd>{model.output_modalities.join(', ')}</dd>
      {model.context_window != null && (
        <>
          <dt>Context</dt>
          <dd>{shortCount(model.context_window)} tokens</dd>
        </>
      )}
      {model.max_output_tokens != null && (
        <>
          <dt>Longest answer</dt>
          <dd>{shortCount(model.max_output_tokens)} tokens</dd>
        </>
      )}
      {model.embedding != null && (
        <>
          <dt>Vectors</dt>
          <dd>{model.embedding.dimensions} dimensions</dd>
        </>
      )}
      {abilities.length > 0 && (
        <>
          <dt>Can</dt>
          <dd>
            <ul class="chips">
              {abilities.map((ability) => (
                <li class="state" key={ability}>
                  {abilityName(ability)}
                </li>
              ))}
            </ul>
          </dd>
        </>
      )}
    </>
  )
}

/** When the model ends, and its successor. */
function Ending({ entry: { model } }: { entry: Entry }) {
  const { status, deprecated_at: deprecated, deactivated_at: end, successor } = model
  if (status === 'active' && end == null) return null
  const until = end == null ? '' : ` on ${dayText(end)}`
  return (
    <section class="card deprecation" aria-label="Deprecation">
      <p>
        {status === 'deactivated'
          ? `This model has ended${until}.`
          : status === 'deprecated'
            ? `This model is deprecated${deprecated == null ? '' : ` since ${dayText(deprecated)}`}${end == null ? '' : ` and ends${until}`}.`
            : `This model ends${until}.`}
        {successor != null && (
          <>
            {' '}
            Use <a href={addressOf(pathOf(successor))}>{successor}</a> instead
            {status === 'deactivated' && '. It answers calls of the ended model'}.
          </>
        )}
      </p>
    </section>
  )
}

const dayFormat = new Intl.DateTimeFormat(undefined, { dateStyle: 'long', timeZone: 'UTC' })

/** Formats a date, which is a day in UTC. */
function dayText(day: string): string {
  return dayFormat.format(new Date(day))
}

function Use({ entry }: { entry: Entry }) {
  return (
    <section class="card">
      <h2>Use it</h2>
      <p class="quiet">
        Put an API key into the environment variable <code>{keyVariable}</code>.
      </p>
      <Snippets title="Ways to use it" ways={snippetsFor(entry, location.origin)} />
    </section>
  )
}

function NoModel({ id }: { id: string }) {
  return (
    <>
      <Head title="Model not found">
        <a href={addressOf('/models')}>All models</a>
      </Head>
      <div class="card empty">
        <p>
          The catalog has no model <code>{id.slice(0, 200)}</code>, or the account may not use it.
        </p>
        <p>
          <a href={addressOf('/models', { q: id.slice(0, 100) })}>Search for it</a>
        </p>
      </div>
    </>
  )
}
