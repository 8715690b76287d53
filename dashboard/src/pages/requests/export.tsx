import { useState } from 'preact/hooks'
import { ExportFormatValues, ModeValues } from '../../../../generated/client-values.ts'
import { bodyOf, GET, type Schemas } from '../../data/api.ts'
import { useLoad } from '../../data/load.ts'
import { accountQuery } from '../../data/session.ts'
import { Dialog } from '../../elements/dialog.tsx'
import { DialogButton } from '../../elements/dialog-button.tsx'
import { WhenLoaded } from '../../elements/when-loaded.tsx'
import { filtersInPlace, filtersInWords } from './filters.tsx'
import { rangeInWords } from './range.tsx'

const formatNames: Record<Schemas['ExportFormat'], string> = {
  csv: 'CSV',
  jsonl: 'JSON Lines',
  json: 'JSON',
}

/** A button that opens the export of the filtered requests. */
export function ExportButton() {
  return (
    <DialogButton button={{ text: 'Export…', class: 'plain small' }}>
      {(close) => (
        <Dialog title="Export requests" onClose={close}>
          <Export />
        </Dialog>
      )}
    </DialogButton>
  )
}

function Export() {
  const { mode: only, from, ...filters } = filtersInPlace()
  const [mode, setMode] = useState<Schemas['Mode']>(only ?? 'live')
  // An export begins 30 days ago unless it has a start, so a list without a start begins with its oldest request.
  const start = useLoad('start of the export', async (signal) => {
    if (from !== undefined) return from
    const query = { ...accountQuery(), order: 'asc', limit: 1 } as const
    const { data } = await bodyOf(GET('/api/requests', { params: { query }, signal }))
    return data[0]?.at ?? ''
  })
  const addressIn = (format: string) => {
    const { key_id: key, ...others } = filters
    const asked = { ...accountQuery(), ...others, key, mode, from: start.data, format }
    const given = Object.entries(asked).flatMap(([name, value]) =>
      value ? [[name, String(value)]] : [],
    )
    return `/api/requests/export?${new URLSearchParams(given).toString()}`
  }
  return (
    <>
      <p>
        All requests of this range, also those that the page does not show:{' '}
        <strong>{rangeInWords({ from, ...filters })}</strong>
        {filtersInWords() !== '' && `; ${filtersInWords()}`}.
      </p>
      {only === undefined && (
        <fieldset>
          <legend>Keys</legend>
          {ModeValues.map((one) => (
            <label key={one} class="choice">
              <input
                type="radio"
                name="exported"
                checked={one === mode}
                onChange={() => setMode(one)}
              />
              {one}
            </label>
          ))}
        </fieldset>
      )}
      <WhenLoaded loaded={start} what="Looking for the oldest request">
        {() => (
          <div class="row">
            {ExportFormatValues.map((format) => (
              <a key={format} class="button plain" href={addressIn(format)} download>
                {formatNames[format]}
              </a>
            ))}
          </div>
        )}
      </WhenLoaded>
    </>
  )
}
