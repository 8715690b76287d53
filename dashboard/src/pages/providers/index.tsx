import { useState } from 'preact/hooks'
import { bodyOf, GET, POST, type Schemas } from '../../data/api.ts'
import { useAct, useLoad } from '../../data/load.ts'
import { addressOf, nameInPlace } from '../../data/place.ts'
import { Failure } from '../../elements/failure.tsx'
import { Said, useSaid } from '../../elements/said.tsx'
import { WhenLoaded } from '../../elements/when-loaded.tsx'
import { ProviderGrid } from './grid.tsx'
import { OneProvider } from './one.tsx'
import { StoredSettings } from './stored-settings.tsx'
import './providers.css'

const pollMs = 15_000
/** A name that no provider can have. */
const settingsName = 'gateway.yaml'

/** The operators' page: the providers with their health, one of them, or the settings that are stored. */
export function Page() {
  const name = nameInPlace()
  const providers = useLoad('providers', (signal) => bodyOf(GET('/api/providers', { signal })), {
    everyMs: pollMs,
  })
  const [said, say] = useSaid()
  const onDone = (text: string) => {
    say(text)
    providers.again()
  }
  const isOne = name !== undefined && name !== settingsName
  return (
    <>
      {!isOne && <Top at={name} onReloaded={providers.again} />}
      <Said said={said} />
      <WhenLoaded loaded={providers} what="Loading the providers">
        {(list) =>
          name === undefined ? (
            <ProviderGrid list={list} />
          ) : isOne ? (
            <OneProvider key={name} id={name} list={list} onDone={onDone} />
          ) : (
            <StoredSettings providers={list.data} onDone={onDone} />
          )
        }
      </WhenLoaded>
    </>
  )
}

const tabs = [
  { name: undefined, path: '/providers', title: 'Providers' },
  { name: settingsName, path: `/providers/${settingsName}`, title: 'Servers, routes, aliases' },
] as const

/** The heading, with the actions that concern all providers. */
function Top({ at, onReloaded }: { at: string | undefined; onReloaded: () => void }) {
  const [reloaded, setReloaded] = useState<Schemas['Reload']>()
  const reloading = useAct(async () => {
    setReloaded(undefined)
    setReloaded(await bodyOf(POST('/api/reload')))
    onReloaded()
  })
  return (
    <>
      <div class="head">
        <h1>Providers</h1>
        <div class="row">
          <a class="button plain" href={addressOf('/reconcile')}>
            Reconcile invoices
          </a>
          <button
            type="button"
            class="plain"
            disabled={reloading.isBusy}
            onClick={() => void reloading.run()}
          >
            {reloading.isBusy ? 'Reloading…' : 'Reload the settings'}
          </button>
        </div>
      </div>
      <Failure error={reloading.error} />
      <p class="hint" role="status">
        {reloaded !== undefined && reloadText(reloaded)}
      </p>
      <nav class="tabs" aria-label="Parts of this page">
        {tabs.map(({ name, path, title }) => (
          <a key={path} href={addressOf(path)} aria-current={name === at ? 'page' : undefined}>
            {title}
          </a>
        ))}
      </nav>
    </>
  )
}

/** Describes the result of a reload. */
function reloadText({ changed, needs_restart: waiting, notices }: Schemas['Reload']): string {
  const done = changed.length === 0 ? 'No setting has changed.' : `Changed: ${changed.join(', ')}.`
  const rest = waiting.length === 0 ? '' : ` Applies after a restart: ${waiting.join(', ')}.`
  return [done + rest, ...notices].join(' ')
}
