// A crowd in C#: the one of crowd.c by P/Invoke, with the same state in the end.
//
// From embed/: cargo build --release -p formic-c
// mcs -unsafe -out:crowd.exe c/examples/Crowd.cs && LD_LIBRARY_PATH=target/release mono crowd.exe
using System;
using System.Runtime.InteropServices;
using System.Text;

[StructLayout(LayoutKind.Sequential)]
struct Vec2 {
    public float X, Y;
}

// The part of formic.h that the sample needs. Status 0 is FM_OK.
static unsafe class Formic {
    const string Library = "formic";

    [StructLayout(LayoutKind.Sequential)]
    public struct Field {
        public byte* Name;
        public uint Type;
        public UIntPtr Offset;
    }

    [StructLayout(LayoutKind.Sequential)]
    public struct ComponentDesc {
        public byte* Name;
        public UIntPtr Size, Align;
        public uint Flags;
        public Field* Fields;
        public UIntPtr FieldsLength;
        public IntPtr Drop, User;
    }

    [StructLayout(LayoutKind.Sequential)]
    public struct Term {
        public uint Component, Kind;
    }

    [StructLayout(LayoutKind.Sequential)]
    public struct Run {
        public UIntPtr Rows;
        public ulong* Entities;
        public void** Columns;
    }

    public const uint Enableable = 1, F32 = 9, Write = 1, With = 4;

    [DllImport(Library)] public static extern uint fm_version();
    [DllImport(Library)] static extern IntPtr fm_error_text();
    [DllImport(Library)] public static extern int fm_world_new(out ulong world);
    [DllImport(Library)] public static extern int fm_world_free(ulong world);
    [DllImport(Library)] public static extern int fm_component_register(ulong world, ComponentDesc* desc, out uint component);
    [DllImport(Library)] public static extern int fm_spawn(ulong world, uint* components, UIntPtr componentsLength, void** values, UIntPtr count, ulong* entities);
    [DllImport(Library)] public static extern int fm_set_enabled(ulong world, ulong* entities, UIntPtr count, uint component, [MarshalAs(UnmanagedType.I1)] bool enabled);
    [DllImport(Library)] public static extern int fm_query_new(ulong world, Term* terms, UIntPtr termsLength, out ulong query);
    [DllImport(Library)] public static extern int fm_query_lease(ulong world, ulong query, ulong since, out ulong lease, out Run* runs, out UIntPtr runsLength);
    [DllImport(Library)] public static extern int fm_lease_release(ulong world, ulong lease);
    [DllImport(Library)] public static extern int fm_state_hash(ulong world, out ulong hash, out UIntPtr uncovered);
    [DllImport(Library)] public static extern int fm_entity_describe(ulong world, ulong entity, byte* text, UIntPtr capacity, out UIntPtr length);

    public static void Ok(int status) {
        if (status != 0) throw new InvalidOperationException(Marshal.PtrToStringAnsi(fm_error_text()));
    }
}

static unsafe class Crowd {
    const int Agents = 10000, Ticks = 100, Size = 512;

    static uint Component(ulong world, string name, int size, int align, uint flags) {
        fixed (byte* text = Encoding.UTF8.GetBytes(name + "\0"), x = Encoding.UTF8.GetBytes("x\0"), y = Encoding.UTF8.GetBytes("y\0")) {
            var fields = stackalloc Formic.Field[2];
            fields[0] = new Formic.Field { Name = x, Type = Formic.F32, Offset = (UIntPtr)0 };
            fields[1] = new Formic.Field { Name = y, Type = Formic.F32, Offset = (UIntPtr)4 };
            var desc = new Formic.ComponentDesc {
                Name = text, Size = (UIntPtr)size, Align = (UIntPtr)align, Flags = flags,
                Fields = fields, FieldsLength = (UIntPtr)(size == sizeof(Vec2) ? 2 : 0),
            };
            uint component;
            Formic.Ok(Formic.fm_component_register(world, &desc, out component));
            return component;
        }
    }

    static int Main() {
        if (Formic.fm_version() != 2) return 1;
        ulong world, query, lease, hash;
        Formic.Ok(Formic.fm_world_new(out world));
        uint position = Component(world, "Position", sizeof(Vec2), 4, 0), velocity = Component(world, "Velocity", sizeof(Vec2), 4, 0),
             awake = Component(world, "Awake", 0, 1, Formic.Enableable);
        Vec2[] positions = new Vec2[Agents], velocities = new Vec2[Agents];
        for (int i = 0; i < Agents; i++) {
            positions[i] = new Vec2 { X = i % Size, Y = i / Size };
            velocities[i] = new Vec2 { X = i % 7 - 3, Y = i % 5 - 2 };
        }
        var agents = new ulong[Agents];
        fixed (Vec2* p = positions, v = velocities)
        fixed (ulong* all = agents) {
            var components = stackalloc uint[3];
            components[0] = position; components[1] = velocity; components[2] = awake;
            var values = stackalloc void*[3];
            values[0] = p; values[1] = v; values[2] = null;
            Formic.Ok(Formic.fm_spawn(world, components, (UIntPtr)3, values, (UIntPtr)Agents, all));

            var terms = stackalloc Formic.Term[3];
            terms[0] = new Formic.Term { Component = position, Kind = Formic.Write };
            terms[1] = new Formic.Term { Component = velocity, Kind = Formic.Write };
            terms[2] = new Formic.Term { Component = awake, Kind = Formic.With };
            Formic.Ok(Formic.fm_query_new(world, terms, (UIntPtr)3, out query));
            ulong walked = 0;
            for (int tick = 0; tick < Ticks; tick++) {
                Formic.Ok(Formic.fm_set_enabled(world, all, (UIntPtr)Agents, awake, true));
                Formic.Ok(Formic.fm_set_enabled(world, all + tick % 10 * (Agents / 10), (UIntPtr)(Agents / 10), awake, false));
                Formic.Run* runs;
                UIntPtr runsLength;
                Formic.Ok(Formic.fm_query_lease(world, query, 0, out lease, out runs, out runsLength));
                for (ulong r = 0; r < (ulong)runsLength; r++) {
                    Vec2* here = (Vec2*)runs[r].Columns[0], speed = (Vec2*)runs[r].Columns[1];
                    for (ulong i = 0; i < (ulong)runs[r].Rows; i++) {
                        here[i].X += speed[i].X;
                        here[i].Y += speed[i].Y;
                        if (here[i].X < 0 || here[i].X > Size) speed[i].X = -speed[i].X;
                        if (here[i].Y < 0 || here[i].Y > Size) speed[i].Y = -speed[i].Y;
                    }
                    walked += (ulong)runs[r].Rows;
                }
                Formic.Ok(Formic.fm_lease_release(world, lease));
            }
            UIntPtr uncovered, length;
            Formic.Ok(Formic.fm_state_hash(world, out hash, out uncovered));
            var text = new byte[128];
            fixed (byte* room = text) Formic.Ok(Formic.fm_entity_describe(world, agents[42], room, (UIntPtr)text.Length, out length));
            Console.WriteLine("{0} agents, {1} ticks, {2} steps; state {3:x16}", Agents, Ticks, walked, hash);
            Console.WriteLine(Encoding.UTF8.GetString(text, 0, (int)length));
        }
        Formic.Ok(Formic.fm_world_free(world));
        return 0;
    }
}
