import { useEffect, useState } from 'preact/hooks'
import { useLoad } from '../../data/load.ts'
import { Dialog } from '../../elements/dialog.tsx'
import { DialogButton } from '../../elements/dialog-button.tsx'
import { Time } from '../../elements/time.tsx'
import { WhenLoaded } from '../../elements/when-loaded.tsx'
import {
  deleteHistory,
  entriesMax,
  isKept,
  loadEntries,
  megabytesMax,
  startHistory,
  type Entry,
} from './history-store.ts'

type Props = { onOpen: (entry: Entry) => void }

/** A button for the history of this person, which opens an earlier form with its result. */
export function HistoryButton({ onOpen }: Props) {
  return (
    <DialogButton button={{ text: 'History', class: 'plain small' }}>
      {(close) => (
        <Dialog title="History" onClose={close}>
          <p class="hint above">
            This browser can keep your prompts, conversations and pictures: at most {entriesMax}{' '}
            entries and {megabytesMax} MB, the newest, until you sign out or delete them.
          </p>
          {isKept.value && (
            <Entries
              onOpen={(entry) => {
                close()
                onOpen(entry)
              }}
            />
          )}
          {/* One button, which keeps the focus. */}
          <button
            type="button"
            class={isKept.value ? 'danger' : undefined}
            onClick={() => (isKept.value ? void deleteHistory() : startHistory())}
          >
            {isKept.value
              ? 'Delete the history and switch it off'
              : 'Keep a history in this browser'}
          </button>
        </Dialog>
      )}
    </DialogButton>
  )
}

function Entries({ onOpen }: Props) {
  const loaded = useLoad('history', loadEntries)
  return (
    <WhenLoaded loaded={loaded}>
      {(entries) => (
        <ul class="history-list" aria-label="Entries">
          {entries.length === 0 && <li class="quiet">Nothing yet.</li>}
          {entries.map((entry) => (
            <li key={entry.id}>
              <button type="button" class="plain" onClick={() => onOpen(entry)}>
                {entry.kind === 'pictures' && <Thumb picture={entry.pictures[0]} />}
                <span>
                  {(entry.kind === 'chat' ? entry.turns[0]?.text : entry.form.prompt)?.slice(
                    0,
                    120,
                  )}
                  <span class="detail">
                    {entry.models.join(', ')} · <Time at={new Date(entry.atMs).toISOString()} />
                    {entry.mode === 'test' && ' · sandbox'}
                  </span>
                </span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </WhenLoaded>
  )
}

function Thumb({ picture = new Blob() }: { picture: Blob | undefined }) {
  const [url, setUrl] = useState('')
  useEffect(() => {
    const made = URL.createObjectURL(picture)
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [])
  return url === '' ? null : <img src={url} alt="" />
}
