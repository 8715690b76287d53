import { useState } from 'preact/hooks'
import { useLoad } from '../../data/load.ts'
import { addressOf, place, setQuery } from '../../data/place.ts'
import { modeInPlace } from '../../data/ranges.ts'
import { accountQuery, isOperator } from '../../data/session.ts'
import { Icon } from '../../elements/icon.tsx'
import { ModeChoice, Toggle } from '../../elements/toggle.tsx'
import { WhenLoaded } from '../../elements/when-loaded.tsx'
import type { Mode } from '../../data/calling.ts'
import { Chat } from './chat.tsx'
import { queryOf } from './form-link.ts'
import { handedInPlace, loadHanded, type Handed } from './handed.ts'
import { HistoryButton } from './history.tsx'
import type { Entry } from './history-store.ts'
import { loadModels, makesPictures, type Model } from './models.ts'
import { Pictures } from './pictures.tsx'
import './playground.css'

/** Tries models with pictures and chat, and shows the price before each call. */
export function Page() {
  const { query } = place.value
  const mode: Mode = modeInPlace()
  const account = accountQuery().account_id ?? ''
  const [{ count, ...opened }, setOpened] = useState<{ entry?: Entry; count: number }>({ count: 0 })
  const entry = opened.entry?.mode === mode ? opened.entry : undefined
  const openEntry = (entry: Entry) => {
    setQuery(queryOf({ ...entry, models: entry.models.map((id) => ({ id })) }))
    setOpened({ entry, count: count + 1 })
  }
  const work = `${mode} ${account} ${handedInPlace()} ${count}`
  const models = useLoad(`models ${mode} ${account}`, (signal) => loadModels(mode, signal))
  const handed = useLoad(work, (signal) => loadHanded(mode, entry, signal))
  const tab = query.get('tab')
  // Links from other pages name a model, whose kind decides whether pictures or chat are shown.
  const named = models.data?.find(({ id }) => id === query.get('model'))
  const isChat = tab === 'chat' || (tab === null && named !== undefined && !makesPictures(named))
  return (
    <>
      <div class="head">
        <h1>Playground</h1>
        <div class="row">
          <HistoryButton onOpen={openEntry} />
          <ModeChoice />
        </div>
      </div>
      <div class="tabs" role="group" aria-label="Pictures or chat">
        <Toggle isOn={!isChat} change={{ tab: 'pictures' }}>
          Pictures
        </Toggle>
        <Toggle isOn={isChat} change={{ tab: 'chat' }}>
          Chat
        </Toggle>
      </div>
      {mode === 'test' && (
        <p class="quiet">The sandbox simulates every model and charges nothing.</p>
      )}
      <WhenLoaded loaded={models} what="Loading the models">
        {(all) => (
          <WhenLoaded loaded={handed}>
            {(handed) => (
              <Tab key={work} models={all} mode={mode} handed={handed} isChat={isChat} />
            )}
          </WhenLoaded>
        )}
      </WhenLoaded>
    </>
  )
}

type TabProps = { models: readonly Model[]; mode: Mode; handed: Handed; isChat: boolean }

function Tab({ models, mode, handed, isChat }: TabProps) {
  const drawing = models.filter(makesPictures)
  const usable = isChat ? models : drawing
  if (usable.length === 0) {
    return (
      <div class="card empty">
        <Icon name={isChat ? 'requests' : 'picture'} />
        <h2>{isChat ? 'No chat model is available yet' : 'No picture model is available yet'}</h2>
        <p>
          A model is available once the gateway has a key of its provider
          {!isOperator.value && ', which an operator adds'}. The sandbox simulates all models, free.
        </p>
        <p class="row">
          <a
            class="button"
            href={addressOf('/playground', { mode: 'test', ...(isChat && { tab: 'chat' }) })}
          >
            Try the sandbox
          </a>
          {isOperator.value && (
            <a class="button plain" href={addressOf('/providers')}>
              Add a provider's key
            </a>
          )}
        </p>
      </div>
    )
  }
  if (!isChat) return <Pictures models={drawing} mode={mode} handed={handed} />
  const writing = models.filter((one) => !makesPictures(one))
  return <Chat models={[...writing, ...drawing]} mode={mode} handed={handed} />
}
