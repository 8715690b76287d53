import { bodyOf, GET } from '../../data/api.ts'
import { useLoad } from '../../data/load.ts'
import { AskFirst } from '../../elements/ask-first.tsx'
import { DialogButton } from '../../elements/dialog-button.tsx'
import { acts, Table } from '../../elements/table.tsx'
import { WhenLoaded } from '../../elements/when-loaded.tsx'
import { changeSettings, readSettings, type Entries, type Path } from './change-settings.ts'
import { EntryForm, type Entry } from './entry-form.tsx'
import { aliasForm, modelsId, routeForm, serverForm, yamlForm } from './forms.ts'
import type { Provider } from './state.tsx'

type Props = { providers: readonly Provider[]; onDone: (said: string) => void }

/** Servers, routes, aliases and prices that operators store, with forms, and as YAML. */
export function StoredSettings({ providers, onDone }: Props) {
  const settings = useLoad('stored settings', readSettings)
  const models = useLoad('models', (signal) => bodyOf(GET('/api/models', { signal })))
  const done = (said: string) => {
    settings.again()
    onDone(said)
  }
  return (
    <WhenLoaded loaded={settings} what="Loading the stored settings">
      {({ entries, content }) => (
        <>
          <p class="row">
            <span class="quiet">What is stored here adds to the file gateway.yaml.</span>
            <DialogButton button={{ text: 'Edit as YAML', class: 'plain small' }}>
              {(close) => <EntryForm {...yamlForm(content)} onClose={close} onDone={done} />}
            </DialogButton>
          </p>
          {partsOf(entries, providers).map((part) => (
            <PartCard key={part.title} {...part} onDone={done} />
          ))}
          <datalist id={modelsId}>
            {models.data?.data.map(({ model: { id } }) => (
              <option key={id} value={id} />
            ))}
          </datalist>
        </>
      )}
    </WhenLoaded>
  )
}

type Part = {
  title: string
  about: string
  /** Headings of the name of an entry and of its value. */
  columns: readonly [string, string]
  /** The form of a new entry. */
  added: Entry
  rows: readonly { name: string; value: string; path: Path; form: Entry }[]
}

function partsOf({ providers, routes, aliases }: Entries, known: readonly Provider[]): Part[] {
  return [
    {
      title: 'Own servers',
      about: 'Servers with an OpenAI-compatible API, such as vLLM or Ollama.',
      columns: ['Name', 'Address and models'],
      added: serverForm(),
      rows: (providers ?? []).map((server, at) => {
        const { id: name, base_url: address, models } = server
        const listed = models === '*' ? 'all models' : [models].flat().join(', ')
        const value = `${address}: ${listed}`
        return { name, value, path: ['providers', at], form: serverForm(server) }
      }),
    },
    {
      title: 'Routes',
      about: 'The providers of a model in order; the next one is tried when one fails.',
      columns: ['Model', 'Providers'],
      added: routeForm(known),
      rows: Object.entries(routes ?? {}).map(([name, route]) => {
        const form = routeForm(known, name, route)
        return { name, value: route.join(', then '), path: ['routes', name], form }
      }),
    },
    {
      title: 'Aliases',
      about: 'Further names of models, for your calls.',
      columns: ['Alias', 'Model'],
      added: aliasForm(),
      rows: Object.entries(aliases ?? {}).map(([name, value]) => {
        return { name, value, path: ['aliases', name], form: aliasForm(name, value) }
      }),
    },
  ]
}

type PartProps = Part & { onDone: (said: string) => void }

function PartCard({ title, about, columns, added, rows, onDone }: PartProps) {
  return (
    <section class="card">
      <div class="head">
        <h2>{title}</h2>
        <DialogButton button={{ text: added.title, class: 'plain small' }}>
          {(close) => <EntryForm {...added} onClose={close} onDone={onDone} />}
        </DialogButton>
      </div>
      <p class="quiet">{about}</p>
      {rows.length > 0 && (
        <Table class="entries" label={title} columns={[...columns, acts]}>
          {rows.map(({ name, value, path, form }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td class="entry-value">{value}</td>
              <td class="act">
                <DialogButton
                  button={{ text: 'Change', class: 'plain small', label: `Change ${name}` }}
                >
                  {(close) => <EntryForm {...form} onClose={close} onDone={onDone} />}
                </DialogButton>{' '}
                <AskFirst
                  button={{ text: 'Remove', class: 'plain small', label: `Remove ${name}` }}
                  title={`Remove ${name}`}
                  act="Remove"
                  run={async () => {
                    await changeSettings(() => [[path, undefined]])
                    return `${name} is removed.`
                  }}
                  onDone={onDone}
                >
                  <p>Later calls that need it fail.</p>
                </AskFirst>
              </td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  )
}
