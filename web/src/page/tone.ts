// A tone whose pitch follows a value: an octave higher for twice the value.

/** The pitch of the first value, and the range of pitches, in Hz. */
const FIRST = 440;
const LOWEST = 55;
const HIGHEST = 3520;

export class Tone {
  private context: AudioContext | undefined;
  private oscillator: OscillatorNode | undefined;
  private first: number | undefined;

  /** Switches it on, which browsers allow after a press only, or off. */
  set(isOn: boolean): void {
    this.first = undefined;
    this.oscillator?.stop();
    this.oscillator = undefined;
    void this.context?.close();
    this.context = undefined;
    if (!isOn) return;
    this.context = new AudioContext();
    const volume = this.context.createGain();
    volume.gain.value = 0.15;
    volume.connect(this.context.destination);
    this.oscillator = this.context.createOscillator();
    this.oscillator.type = "triangle";
    this.oscillator.frequency.value = LOWEST;
    this.oscillator.connect(volume);
    this.oscillator.start();
  }

  /** Sets the pitch. A missing value is the lowest one. */
  follow(value: number | undefined): void {
    if (!this.context || !this.oscillator) return;
    if (value !== undefined && value > 0) this.first ??= value;
    this.oscillator.frequency.setTargetAtTime(pitch(value, this.first), this.context.currentTime, 0.02);
  }
}

/** Returns the pitch of a value beside the first one, in Hz. */
export function pitch(value: number | undefined, first: number | undefined): number {
  if (value === undefined || first === undefined) return LOWEST;
  return Math.min(HIGHEST, Math.max(LOWEST, (FIRST * value) / first));
}

/** Sounds twice, shortly. */
export function beep(): void {
  const context = new AudioContext();
  const end = context.currentTime + 0.5;
  for (const at of [0, 0.25]) {
    const oscillator = context.createOscillator();
    const volume = context.createGain();
    volume.gain.value = 0.2;
    oscillator.frequency.value = 880;
    oscillator.connect(volume).connect(context.destination);
    oscillator.start(context.currentTime + at);
    oscillator.stop(context.currentTime + at + 0.15);
  }
  window.setTimeout(() => void context.close(), (end - context.currentTime) * 1000 + 200);
}
